/* Asks by librdkafka's admin interface, with one queue for each question. */
#include "questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The callback of lines is given nothing by which to find it. */
static const librdkafka *the_library;

static void note_trouble(void *handle, int error, const char *reason, void *opaque)
{
    (void)handle;
    asker *self = opaque;
    if (self->trouble_count < QUESTIONS_TROUBLES) {
        asker_trouble *trouble = &self->troubles[self->trouble_count++];
        trouble->error = error;
        snprintf(trouble->text, sizeof trouble->text, "%s", reason != NULL ? reason : "");
    }
}

/* Lines come through the queue that is polled, and so one after the other. */
static void note_line(const void *handle, int level, const char *facility, const char *line)
{
    (void)level, (void)facility;
    if (the_library != NULL) {
        note_trouble(NULL, 0, line, the_library->opaque(handle));
    }
}

int asker_open(asker *self, const librdkafka *library, const kafka_setting *settings, size_t count, char *why,
               size_t why_size)
{
    memset(self, 0, sizeof *self);
    self->library = the_library = library;
    void *conf = kafka_configure(library, settings, count, why, why_size);
    if (conf == NULL) {
        return -1;
    }
    library->conf_set(conf, "log.queue", "true", why, why_size);
    library->conf_set_opaque(conf, self);
    library->conf_set_error_cb(conf, note_trouble);
    library->conf_set_log_cb(conf, note_line);
    self->handle = library->create(LIBRDKAFKA_PRODUCER, conf, why, why_size);
    if (self->handle == NULL) {
        library->conf_destroy(conf);
        return -1;
    }
    /* To the queue that is polled; lines that came before this one are not of interest. */
    library->set_log_queue(self->handle, NULL);
    return 0;
}

void asker_poll(asker *self)
{
    self->library->poll(self->handle, 0);
}

void asker_close(asker *self)
{
    if (self->handle != NULL) {
        self->library->destroy_flags(self->handle, LIBRDKAFKA_LEAVE_AS_IS);
        self->handle = NULL;
    }
}

/* Options of a question, or NULL and why not. */
static void *options_of(asker *from, int timeout_ms, int isolation, char *why, size_t why_size)
{
    const librdkafka *library = from->library;
    void *options = library->admin_options_new(from->handle, LIBRDKAFKA_ANY_QUESTION);
    void *refused = NULL;
    if (options == NULL) {
        snprintf(why, why_size, "no options could be made");
        return NULL;
    }
    if (library->admin_options_set_timeout(options, timeout_ms, why, why_size) != 0) {
        library->admin_options_destroy(options);
        return NULL;
    }
    if (isolation >= 0 && (refused = library->admin_options_set_isolation(options, isolation)) != NULL) {
        snprintf(why, why_size, "%s", library->error_string(refused));
        library->error_destroy(refused);
        library->admin_options_destroy(options);
        return NULL;
    }
    return options;
}

static void begin(question *self, asker *from, question_kind kind)
{
    memset(self, 0, sizeof *self);
    self->from = from;
    self->kind = kind;
    self->queue = from->library->queue_new(from->handle);
}

int question_ask_offsets(question *self, asker *from, const char *topic, size_t first, size_t count,
                         int64_t kind, int is_committed, int timeout_ms, char *why, size_t why_size)
{
    const librdkafka *library = from->library;
    void *options = options_of(from, timeout_ms, is_committed, why, why_size);
    if (options == NULL) {
        memset(self, 0, sizeof *self);
        return -1;
    }
    begin(self, from, QUESTION_OF_OFFSETS);
    kafka_places *places = library->places_new((int)count);
    for (size_t i = 0; i < count; i++) {
        library->places_add(places, topic, (int32_t)(first + i))->offset = kind;
    }
    library->list_offsets(from->handle, places, options, self->queue);
    library->places_destroy(places);
    library->admin_options_destroy(options);
    return 0;
}

int question_ask_topic(question *self, asker *from, const char *topic, int timeout_ms, char *why,
                       size_t why_size)
{
    const librdkafka *library = from->library;
    void *options = options_of(from, timeout_ms, -1, why, why_size);
    if (options == NULL) {
        memset(self, 0, sizeof *self);
        return -1;
    }
    begin(self, from, QUESTION_OF_TOPIC);
    void *topics = library->topics_of_names(&topic, 1);
    library->describe_topics(from->handle, topics, options, self->queue);
    library->topics_destroy(topics);
    library->admin_options_destroy(options);
    return 0;
}

static void note(question *self, int error, const char *text)
{
    if (error != 0 && self->error == 0) {
        self->error = error;
        snprintf(self->text, sizeof self->text, "%s", text != NULL ? text : "");
    }
}

static int make_room(question *self, size_t count)
{
    self->partitions = calloc(count + 1, sizeof *self->partitions);
    self->offsets = calloc(count + 1, sizeof *self->offsets);
    self->leader_epochs = calloc(count + 1, sizeof *self->leader_epochs);
    return self->partitions != NULL && self->offsets != NULL && self->leader_epochs != NULL ? 0 : -1;
}

static int take_offsets(question *self, void *event)
{
    const librdkafka *library = self->from->library;
    size_t count;
    const void **infos = library->offsets_infos(library->event_offsets(event), &count);
    if (make_room(self, count) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const kafka_place *place = library->offsets_info_place(infos[i]);
        note(self, place->error, library->err2str(place->error));
        self->partitions[i] = place->partition;
        self->offsets[i] = place->offset;
        self->leader_epochs[i] = library->place_get_leader_epoch(place);
    }
    self->count = count;
    return 0;
}

static int take_topic(question *self, void *event)
{
    const librdkafka *library = self->from->library;
    size_t topics, count;
    const void **found = library->described_topics(library->event_topics(event), &topics);
    if (topics != 1) {
        note(self, LIBRDKAFKA_FAILED, "the cluster did not describe the one topic");
        return 0;
    }
    const void *wrong = library->topic_error(found[0]);
    if (wrong != NULL && library->error_code(wrong) != 0) {
        note(self, library->error_code(wrong), library->error_string(wrong));
        return 0;
    }
    const void **partitions = library->topic_partitions(found[0], &count);
    if (make_room(self, count) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        self->partitions[i] = library->partition_number(partitions[i]);
    }
    self->count = count;
    const void *id = library->topic_id(found[0]);
    const char *text = id != NULL ? library->uuid_text(id) : NULL;
    snprintf(self->topic_id, sizeof self->topic_id, "%s", text != NULL ? text : "");
    return 0;
}

int question_wait(question *self, int wait_ms)
{
    const librdkafka *library = self->from->library;
    void *event = library->queue_poll(self->queue, wait_ms);
    if (event == NULL) {
        return 0;
    }
    int taken = 0;
    note(self, library->event_error(event), library->event_error_string(event));
    if (self->error == 0) {
        taken = self->kind == QUESTION_OF_OFFSETS ? take_offsets(self, event) : take_topic(self, event);
    }
    library->event_destroy(event);
    return taken == 0 ? 1 : -1;
}

void question_close(question *self)
{
    if (self->queue != NULL) {
        self->from->library->queue_destroy(self->queue);
    }
    free(self->partitions);
    free(self->offsets);
    free(self->leader_epochs);
    memset(self, 0, sizeof *self);
}
