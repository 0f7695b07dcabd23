/* Takes records out of librdkafka's queue into columns, one copy each.
 *
 * A record behind its range is dropped, since fetching does not end where a range does; one before it, which
 * must not be, is told as an event, and so is all that is no record. This file must not know of Python.
 */
#include "reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void note_trouble(void *handle, int error, const char *reason, void *opaque)
{
    (void)handle;
    reader *self = opaque;
    if (self->trouble_count == READER_TROUBLES) {
        return;
    }
    reader_trouble *trouble = &self->troubles[self->trouble_count++];
    trouble->error = error;
    snprintf(trouble->text, sizeof trouble->text, "%s", reason != NULL ? reason : "");
}

static void drop_line(const void *handle, int level, const char *facility, const char *line)
{
    (void)handle, (void)level, (void)facility, (void)line;
}

int reader_open(reader *self, const librdkafka *library, const kafka_setting *settings, size_t count,
                char *why, size_t why_size)
{
    memset(self, 0, sizeof *self);
    self->library = library;
    void *conf = kafka_configure(library, settings, count, why, why_size);
    if (conf == NULL) {
        return -1;
    }
    library->conf_set_opaque(conf, self);
    library->conf_set_error_cb(conf, note_trouble);
    library->conf_set_log_cb(conf, drop_line);
    self->handle = library->create(LIBRDKAFKA_CONSUMER, conf, why, why_size);
    if (self->handle == NULL) {
        library->conf_destroy(conf);
        return -1;
    }
    library->poll_set_consumer(self->handle);
    self->queue = library->queue_get_consumer(self->handle);
    if (self->queue == NULL) {
        snprintf(why, why_size, "the handle has no queue");
        reader_close(self);
        return -1;
    }
    return 0;
}

int reader_assign(reader *self, const char *topic, reader_range *ranges, size_t count)
{
    const librdkafka *library = self->library;
    self->ranges = ranges;
    self->range_count = count;
    self->places = library->places_new((int)count);
    for (size_t i = 0; i < count; i++) {
        kafka_place *place = library->places_add(self->places, topic, ranges[i].partition);
        place->offset = ranges[i].next;
        if (ranges[i].leader_epoch >= 0) {
            library->place_set_leader_epoch(place, ranges[i].leader_epoch);
        }
    }
    return library->assign(self->handle, self->places);
}

reader_range *reader_range_of(reader *self, int32_t partition)
{
    if (self->last_range < self->range_count && self->ranges[self->last_range].partition == partition) {
        return &self->ranges[self->last_range];
    }
    size_t low = 0, high = self->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->ranges[middle].partition < partition) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == self->range_count || self->ranges[low].partition != partition) {
        return NULL;
    }
    self->last_range = low;
    return &self->ranges[low];
}

static reader_outcome tell(reader *self, const kafka_message *message, const char *text)
{
    self->event.partition = message->partition;
    self->event.offset = message->offset;
    self->event.error = message->error;
    snprintf(self->event.text, sizeof self->event.text, "%s", text != NULL ? text : "");
    return READER_EVENT;
}

/* How many bytes of headers a record has, and how many headers. */
static size_t measure_headers(const reader *self, void *headers, size_t *count)
{
    const char *name;
    const void *value;
    size_t size, bytes = 0;
    *count = 0;
    while (headers != NULL && self->library->header_get_all(headers, *count, &name, &value, &size) == 0) {
        bytes += strlen(name) + (value != NULL ? size : 0);
        ++*count;
    }
    return bytes;
}

static int add_headers(reader *self, void *headers, size_t count)
{
    reader_columns *columns = &self->columns;
    for (size_t i = 0; i < count; i++) {
        const char *name;
        const void *value;
        size_t size;
        if (self->library->header_get_all(headers, i, &name, &value, &size) != 0 ||
            binary_add(&columns->header_name, name, strlen(name)) != 0 ||
            binary_add(&columns->header_value, value, size) != 0) {
            return -1;
        }
    }
    const int32_t zero = 0, end = (int32_t)columns->header_name.rows;
    if (columns->header_ends.used == 0 && growing_add(&columns->header_ends, &zero, sizeof zero) != 0) {
        return -1;
    }
    return growing_add(&columns->header_ends, &end, sizeof end);
}

static int add_timestamp_type(reader_columns *columns, int type)
{
    const int is_known = type != LIBRDKAFKA_TIMESTAMP_UNKNOWN;
    const int32_t number = is_known ? type - 1 : 0;
    columns->timestamps_unknown += !is_known;
    return growing_add(&columns->timestamp_type, &number, sizeof number) != 0 ||
           bits_add(&columns->timestamp_known, columns->rows, is_known) != 0;
}

static int add_record(reader *self, const kafka_message *message, void *headers, size_t header_count)
{
    reader_columns *columns = &self->columns;
    int type;
    const int64_t timestamp_ms = self->library->message_timestamp(message, &type);
    if (growing_add(&columns->partition, &message->partition, sizeof message->partition) != 0 ||
        growing_add(&columns->offset, &message->offset, sizeof message->offset) != 0 ||
        growing_add(&columns->timestamp_ms, &timestamp_ms, sizeof timestamp_ms) != 0 ||
        binary_add(&columns->value, message->value, message->value_size) != 0) {
        return -1;
    }
    if (self->has_keys && binary_add(&columns->key, message->key, message->key_size) != 0) {
        return -1;
    }
    if (self->has_headers &&
        (add_timestamp_type(columns, type) != 0 || add_headers(self, headers, header_count) != 0)) {
        return -1;
    }
    columns->rows++;
    return 0;
}

/* Take one record, if it belongs to its range; READER_MORE if it is dealt with. */
static reader_outcome take_record(reader *self, kafka_message *message, size_t at_most_rows,
                                  size_t at_most_bytes)
{
    reader_range *range = reader_range_of(self, message->partition);
    if (range == NULL || range->next >= range->end) {
        return READER_MORE;
    }
    if (message->offset < range->next) {
        return tell(self, message, NULL);
    }
    if (message->offset < range->end) {
        void *headers = NULL;
        size_t header_count = 0;
        if (self->has_headers && self->library->message_headers(message, &headers) != 0) {
            headers = NULL; /* the error says that there are none */
        }
        size_t bytes = measure_headers(self, headers, &header_count) + message->value_size +
                       (self->has_keys ? message->key_size : 0);
        reader_columns *columns = &self->columns;
        if (columns->rows > 0 &&
            (columns->rows >= at_most_rows || columns->bytes > at_most_bytes ||
             bytes > at_most_bytes - columns->bytes)) {
            return READER_FULL;
        }
        if (add_record(self, message, headers, header_count) != 0) {
            return READER_NO_MEMORY;
        }
        /* A first record may be larger than a chunk, and then nothing fits beside it, not even nothing. */
        columns->bytes = bytes > at_most_bytes - columns->bytes ? SIZE_MAX : columns->bytes + bytes;
    }
    range->next = message->offset + 1;
    return READER_MORE;
}

/* Look at what was taken from the queue; READER_MORE if nothing of it is left. */
static reader_outcome take_messages(reader *self, size_t at_most_rows, size_t at_most_bytes)
{
    while (self->from < self->to) {
        kafka_message *message = self->messages[self->from];
        reader_outcome outcome =
            message->error != 0 ? tell(self, message, self->library->message_errstr(message))
                                : take_record(self, message, at_most_rows, at_most_bytes);
        if (outcome == READER_FULL || outcome == READER_NO_MEMORY) {
            return outcome;
        }
        self->library->message_destroy(message);
        self->from++;
        if (outcome == READER_EVENT) {
            return outcome;
        }
    }
    return READER_MORE;
}

static int has_open_ranges(const reader *self)
{
    for (size_t i = 0; i < self->range_count; i++) {
        if (self->ranges[i].next < self->ranges[i].end) {
            return 1;
        }
    }
    return 0;
}

reader_outcome reader_take(reader *self, size_t at_most_rows, size_t at_most_bytes, int wait_ms)
{
    const int64_t until_ms = now_ms() + wait_ms;
    size_t taken = 0;
    for (;;) {
        reader_outcome outcome = take_messages(self, at_most_rows, at_most_bytes);
        if (outcome != READER_MORE) {
            return outcome;
        }
        if (taken > 0 && !has_open_ranges(self)) {
            return READER_WAITED;
        }
        ssize_t count = self->library->consume_batch_queue(self->queue, 0, self->messages, READER_BATCH);
        const int64_t left_ms = until_ms - now_ms();
        if (count <= 0 && taken == 0 && left_ms > 0) {
            /* One only: for more than that the library would wait, though what is there is enough. */
            count = self->library->consume_batch_queue(self->queue, (int)left_ms, self->messages, 1);
        }
        self->from = 0;
        self->to = count > 0 ? (size_t)count : 0;
        if (self->to == 0) {
            return READER_WAITED;
        }
        taken += self->to;
        if (left_ms <= 0) {
            return take_messages(self, at_most_rows, at_most_bytes);
        }
    }
}

int reader_positions(reader *self, int64_t *positions)
{
    if (self->places == NULL) {
        return 0;
    }
    const int error = self->library->position(self->handle, self->places);
    for (size_t i = 0; i < self->range_count; i++) {
        const kafka_place *place = &self->places->places[i];
        positions[i] = error == 0 && place->error == 0 ? place->offset : -1;
    }
    return error;
}

int reader_leave(reader *self, reader_range *range)
{
    range->next = range->end;
    kafka_places one = {.count = 1, .capacity = 1, .places = &self->places->places[range - self->ranges]};
    return self->library->pause_partitions(self->handle, &one);
}

void reader_begin_columns(reader *self)
{
    self->columns.rows = 0;
    self->columns.bytes = 0;
    self->columns.timestamps_unknown = 0;
}

static void free_columns(reader_columns *columns)
{
    growing *plain[] = {&columns->partition,      &columns->offset,          &columns->timestamp_ms,
                        &columns->timestamp_type, &columns->timestamp_known, &columns->header_ends};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        growing_free(plain[i]);
    }
    binary_free(&columns->value);
    binary_free(&columns->key);
    binary_free(&columns->header_name);
    binary_free(&columns->header_value);
}

/* A handle that is being destroyed, and whether it is; whoever comes last frees it. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_done;
    int is_left;
    const librdkafka *library;
    void *handle;
} ending;

static void ending_free(ending *end)
{
    pthread_cond_destroy(&end->changed);
    pthread_mutex_destroy(&end->lock);
    free(end);
}

static void *destroy(void *argument)
{
    ending *end = argument;
    end->library->destroy_flags(end->handle, LIBRDKAFKA_LEAVE_AS_IS);
    pthread_mutex_lock(&end->lock);
    end->is_done = 1;
    const int is_mine = end->is_left;
    pthread_cond_signal(&end->changed);
    pthread_mutex_unlock(&end->lock);
    if (is_mine) {
        ending_free(end);
    }
    return NULL;
}

static void destroy_in_time(const librdkafka *library, void *handle)
{
    ending *end = calloc(1, sizeof *end);
    pthread_t thread;
    if (end == NULL) {
        library->destroy_flags(handle, LIBRDKAFKA_LEAVE_AS_IS);
        return;
    }
    end->library = library;
    end->handle = handle;
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->changed, NULL);
    if (pthread_create(&thread, NULL, destroy, end) != 0) {
        library->destroy_flags(handle, LIBRDKAFKA_LEAVE_AS_IS);
        ending_free(end);
        return;
    }
    pthread_detach(thread);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += READER_CLOSE_MS / 1000;
    pthread_mutex_lock(&end->lock);
    while (!end->is_done && pthread_cond_timedwait(&end->changed, &end->lock, &until) == 0) {
    }
    end->is_left = !end->is_done;
    const int is_mine = end->is_done;
    pthread_mutex_unlock(&end->lock);
    if (is_mine) {
        ending_free(end);
    }
}

/* Forget what was assigned, and what came of it. */
static void drop_assignment(reader *self)
{
    while (self->from < self->to) {
        self->library->message_destroy(self->messages[self->from++]);
    }
    if (self->places != NULL) {
        self->library->places_destroy(self->places);
        self->places = NULL;
    }
    free(self->ranges);
    self->ranges = NULL;
    self->range_count = self->last_range = 0;
}

int reader_unassign(reader *self)
{
    /* A partition stays paused beyond its assignment. */
    int error = self->places != NULL ? self->library->resume_partitions(self->handle, self->places) : 0;
    if (error == 0) {
        error = self->library->assign(self->handle, NULL);
    }
    drop_assignment(self);
    free_columns(&self->columns);
    memset(&self->columns, 0, sizeof self->columns);
    return error;
}

void reader_close(reader *self)
{
    drop_assignment(self);
    if (self->queue != NULL) {
        self->library->queue_destroy(self->queue);
        self->queue = NULL;
    }
    if (self->handle != NULL) {
        destroy_in_time(self->library, self->handle);
        self->handle = NULL;
    }
    free_columns(&self->columns);
}
