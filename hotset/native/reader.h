/* A handle of librdkafka's that takes exact offset ranges into columns.
 *
 * It decides nothing but whether a record belongs to its range: what an error, an end of the log or a silence
 * means is for its owner. It must not know of Python; its owner sees to it that one thread uses it at a time.
 */
#ifndef HOTSET_READER_H
#define HOTSET_READER_H

#include "columns.h"
#include "librdkafka.h"

enum { READER_TEXT = 512, READER_BATCH = 512, READER_TROUBLES = 32, READER_CLOSE_MS = 2000 };

typedef struct {
    int32_t partition;
    int32_t leader_epoch; /* below 0 if not known */
    int64_t next;         /* nothing below it is wanted any more */
    int64_t end;
} reader_range;

/* Something about a partition that is no record of its range. */
typedef struct {
    int32_t partition;
    int64_t offset;
    int error; /* librdkafka's, or 0 for a record that came again */
    char text[READER_TEXT];
} reader_event;

/* Something about a connection. */
typedef struct {
    int error;
    char text[READER_TEXT];
} reader_trouble;

/* Records gathered so far; those that are not asked for stay empty. */
typedef struct {
    size_t rows;
    size_t bytes; /* of values, keys and headers */
    growing partition;
    growing offset;
    growing timestamp_ms;
    binary_column value;
    binary_column key;
    growing timestamp_type; /* int32, as the protocol numbers them */
    growing timestamp_known;
    size_t timestamps_unknown;
    growing header_ends; /* int32: a zero, then how many headers there are after each record */
    binary_column header_name;
    binary_column header_value;
} reader_columns;

typedef enum {
    READER_WAITED,    /* what was there is taken */
    READER_MORE,      /* more may be there */
    READER_FULL,      /* more is there than fits into the columns */
    READER_EVENT,     /* `event` tells what is in the way; more may be there */
    READER_NO_MEMORY,
} reader_outcome;

typedef struct {
    const librdkafka *library;
    void *handle;
    void *queue;
    kafka_places *places;
    reader_range *ranges; /* in the order of partitions */
    size_t range_count;
    size_t last_range;
    int has_keys;
    int has_headers;
    kafka_message *messages[READER_BATCH]; /* taken from the queue and not looked at yet: from..to */
    size_t from;
    size_t to;
    reader_columns columns;
    reader_event event;
    reader_trouble troubles[READER_TROUBLES];
    size_t trouble_count;
} reader;

/* Open a handle with these settings; 0, or -1 and why not. The structure must not move afterwards. */
int reader_open(reader *self, const librdkafka *library, const kafka_setting *settings, size_t count,
                char *why, size_t why_size);

/* Begin to fetch; takes the ranges over, which are in the order of partitions. 0 or librdkafka's error. */
int reader_assign(reader *self, const char *topic, reader_range *ranges, size_t count);

/* Fetch nothing any more, so that the handle can be assigned again; what was gathered is gone. 0 or
 * librdkafka's error, after which the handle is good for nothing but to be closed. */
int reader_unassign(reader *self);

/* Take what arrives within so many milliseconds, up to so many rows and bytes in the columns. */
reader_outcome reader_take(reader *self, size_t at_most_rows, size_t at_most_bytes, int wait_ms);

/* Fill in where the handle stands, range by range; -1 where it does not say. 0 or librdkafka's error. */
int reader_positions(reader *self, int64_t *positions);

/* The range of a partition, or NULL. */
reader_range *reader_range_of(reader *self, int32_t partition);

/* Fetch no more of a range; 0 or librdkafka's error. */
int reader_leave(reader *self, reader_range *range);

/* Begin new columns: somebody else owns now what was in them. */
void reader_begin_columns(reader *self);

/* Give everything back within a bounded time: what takes longer goes on behind. */
void reader_close(reader *self);

#endif
