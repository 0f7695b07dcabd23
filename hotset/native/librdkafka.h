/* What of librdkafka the reader calls, found at run time in the library the Python client brings along.
 *
 * Its headers are not needed to build: structures and functions here are of its stable C interface, and a
 * library that lacks one of them is refused as a whole. This file must not know what is read.
 */
#ifndef HOTSET_LIBRDKAFKA_H
#define HOTSET_LIBRDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LIBRDKAFKA_PRODUCER = 0,            /* of `create`, also for who only asks */
    LIBRDKAFKA_CONSUMER = 1,
    LIBRDKAFKA_ANY_QUESTION = 0,        /* of `admin_options_new` */
    LIBRDKAFKA_FAILED = -196,           /* librdkafka's own error for what has no other */
    LIBRDKAFKA_SET = 0,                 /* `conf_set` has taken a setting */
    LIBRDKAFKA_TIMESTAMP_UNKNOWN = 0,   /* of `message_timestamp`; 1 is the producer's, 2 the broker's */
    LIBRDKAFKA_LEAVE_AS_IS = 0x8        /* of `destroy_flags`: no group to leave, nothing to commit */
};

/* A record, or an event if `error` is not 0. */
typedef struct {
    int error;
    void *topic;
    int32_t partition;
    void *value;
    size_t value_size;
    void *key;
    size_t key_size;
    int64_t offset;
    void *hidden;
} kafka_message;

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset;
    void *metadata;
    size_t metadata_size;
    void *opaque;
    int error;
    void *hidden;
} kafka_place;

typedef struct {
    int count;
    int capacity;
    kafka_place *places;
} kafka_places;

/* A property of a handle, as librdkafka writes both. */
typedef struct {
    const char *name;
    const char *value;
} kafka_setting;

typedef void kafka_on_error(void *handle, int error, const char *reason, void *opaque);
typedef void kafka_on_log(const void *handle, int level, const char *facility, const char *line);

typedef struct {
    const char *(*version_str)(void);
    void *(*conf_new)(void);
    void (*conf_destroy)(void *conf);
    int (*conf_set)(void *conf, const char *name, const char *value, char *why, size_t why_size);
    void (*conf_set_opaque)(void *conf, void *opaque);
    void (*conf_set_error_cb)(void *conf, kafka_on_error *callback);
    void (*conf_set_log_cb)(void *conf, kafka_on_log *callback);
    void *(*create)(int type, void *conf, char *why, size_t why_size);
    void (*destroy_flags)(void *handle, int flags);
    int (*poll_set_consumer)(void *handle);
    int (*assign)(void *handle, const kafka_places *places);
    int (*position)(void *handle, kafka_places *places);
    int (*pause_partitions)(void *handle, kafka_places *places);
    int (*resume_partitions)(void *handle, kafka_places *places);
    void *(*queue_get_consumer)(void *handle);
    void (*queue_destroy)(void *queue);
    ssize_t (*consume_batch_queue)(void *queue, int timeout_ms, kafka_message **messages, size_t size);
    void (*message_destroy)(kafka_message *message);
    const char *(*message_errstr)(const kafka_message *message);
    int64_t (*message_timestamp)(const kafka_message *message, int *type);
    int (*message_headers)(const kafka_message *message, void **headers);
    int (*header_get_all)(const void *headers, size_t index, const char **name, const void **value,
                          size_t *size);
    kafka_places *(*places_new)(int capacity);
    void (*places_destroy)(kafka_places *places);
    kafka_place *(*places_add)(kafka_places *places, const char *topic, int32_t partition);
    void (*place_set_leader_epoch)(kafka_place *place, int32_t epoch);
    int32_t (*place_get_leader_epoch)(const kafka_place *place);
    int (*poll)(void *handle, int timeout_ms);
    void *(*opaque)(const void *handle);
    void *(*set_log_queue)(void *handle, void *queue);
    const char *(*err2str)(int error);
    int (*error_code)(const void *error);
    const char *(*error_string)(const void *error);
    void (*error_destroy)(void *error);
    void *(*queue_new)(void *handle);
    void *(*queue_poll)(void *queue, int timeout_ms);
    int (*event_error)(void *event);
    const char *(*event_error_string)(void *event);
    void (*event_destroy)(void *event);
    void *(*admin_options_new)(void *handle, int question);
    void (*admin_options_destroy)(void *options);
    int (*admin_options_set_timeout)(void *options, int timeout_ms, char *why, size_t why_size);
    void *(*admin_options_set_isolation)(void *options, int isolation);
    void (*list_offsets)(void *handle, kafka_places *places, const void *options, void *queue);
    const void *(*event_offsets)(void *event);
    const void **(*offsets_infos)(const void *result, size_t *count);
    const kafka_place *(*offsets_info_place)(const void *info);
    void *(*topics_of_names)(const char **names, size_t count);
    void (*topics_destroy)(void *topics);
    void (*describe_topics)(void *handle, const void *topics, const void *options, void *queue);
    const void *(*event_topics)(void *event);
    const void **(*described_topics)(const void *result, size_t *count);
    const void *(*topic_error)(const void *topic);
    const void *(*topic_id)(const void *topic);
    const char *(*uuid_text)(const void *uuid);
    const void **(*topic_partitions)(const void *topic, size_t *count);
    int (*partition_number)(const void *partition);
} librdkafka;

/* Fill in all functions from the shared object at a path; 0, or -1 and why not. */
int librdkafka_load(librdkafka *library, const char *path, char *why, size_t why_size);

/* A configuration with these settings, or NULL and why not. */
void *kafka_configure(const librdkafka *library, const kafka_setting *settings, size_t count, char *why,
                      size_t why_size);

#endif
