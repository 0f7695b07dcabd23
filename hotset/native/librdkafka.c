/* Finds librdkafka's functions by name in a shared object, all of them or none.
 *
 * The object stays loaded for good, since its threads may outlive whoever asked for it. This file must not
 * call what it finds.
 */
#include "librdkafka.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t at;
} symbol;

#define SYMBOL(field, name) {"rd_kafka_" name, offsetof(librdkafka, field)}

static const symbol SYMBOLS[] = {
    SYMBOL(version_str, "version_str"),
    SYMBOL(conf_new, "conf_new"),
    SYMBOL(conf_destroy, "conf_destroy"),
    SYMBOL(conf_set, "conf_set"),
    SYMBOL(conf_set_opaque, "conf_set_opaque"),
    SYMBOL(conf_set_error_cb, "conf_set_error_cb"),
    SYMBOL(conf_set_log_cb, "conf_set_log_cb"),
    SYMBOL(create, "new"),
    SYMBOL(destroy_flags, "destroy_flags"),
    SYMBOL(poll_set_consumer, "poll_set_consumer"),
    SYMBOL(assign, "assign"),
    SYMBOL(position, "position"),
    SYMBOL(pause_partitions, "pause_partitions"),
    SYMBOL(resume_partitions, "resume_partitions"),
    SYMBOL(queue_get_consumer, "queue_get_consumer"),
    SYMBOL(queue_destroy, "queue_destroy"),
    SYMBOL(consume_batch_queue, "consume_batch_queue"),
    SYMBOL(message_destroy, "message_destroy"),
    SYMBOL(message_errstr, "message_errstr"),
    SYMBOL(message_timestamp, "message_timestamp"),
    SYMBOL(message_headers, "message_headers"),
    SYMBOL(header_get_all, "header_get_all"),
    SYMBOL(places_new, "topic_partition_list_new"),
    SYMBOL(places_destroy, "topic_partition_list_destroy"),
    SYMBOL(places_add, "topic_partition_list_add"),
    SYMBOL(place_set_leader_epoch, "topic_partition_set_leader_epoch"),
    SYMBOL(place_get_leader_epoch, "topic_partition_get_leader_epoch"),
    SYMBOL(poll, "poll"),
    SYMBOL(opaque, "opaque"),
    SYMBOL(set_log_queue, "set_log_queue"),
    SYMBOL(err2str, "err2str"),
    SYMBOL(error_code, "error_code"),
    SYMBOL(error_string, "error_string"),
    SYMBOL(error_destroy, "error_destroy"),
    SYMBOL(queue_new, "queue_new"),
    SYMBOL(queue_poll, "queue_poll"),
    SYMBOL(event_error, "event_error"),
    SYMBOL(event_error_string, "event_error_string"),
    SYMBOL(event_destroy, "event_destroy"),
    SYMBOL(admin_options_new, "AdminOptions_new"),
    SYMBOL(admin_options_destroy, "AdminOptions_destroy"),
    SYMBOL(admin_options_set_timeout, "AdminOptions_set_request_timeout"),
    SYMBOL(admin_options_set_isolation, "AdminOptions_set_isolation_level"),
    SYMBOL(list_offsets, "ListOffsets"),
    SYMBOL(event_offsets, "event_ListOffsets_result"),
    SYMBOL(offsets_infos, "ListOffsets_result_infos"),
    SYMBOL(offsets_info_place, "ListOffsetsResultInfo_topic_partition"),
    SYMBOL(topics_of_names, "TopicCollection_of_topic_names"),
    SYMBOL(topics_destroy, "TopicCollection_destroy"),
    SYMBOL(describe_topics, "DescribeTopics"),
    SYMBOL(event_topics, "event_DescribeTopics_result"),
    SYMBOL(described_topics, "DescribeTopics_result_topics"),
    SYMBOL(topic_error, "TopicDescription_error"),
    SYMBOL(topic_id, "TopicDescription_topic_id"),
    SYMBOL(uuid_text, "Uuid_base64str"),
    SYMBOL(topic_partitions, "TopicDescription_partitions"),
    SYMBOL(partition_number, "TopicPartitionInfo_partition"),
};

int librdkafka_load(librdkafka *library, const char *path, char *why, size_t why_size)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        const char *reason = dlerror();
        snprintf(why, why_size, "%s", reason != NULL ? reason : path);
        return -1;
    }
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof SYMBOLS[0]; i++) {
        void *found = dlsym(object, SYMBOLS[i].name);
        if (found == NULL) {
            snprintf(why, why_size, "%s has no %s", path, SYMBOLS[i].name);
            return -1;
        }
        /* POSIX gives functions as data pointers of the same size; C knows no cast between them. */
        memcpy((char *)library + SYMBOLS[i].at, &found, sizeof found);
    }
    return 0;
}

void *kafka_configure(const librdkafka *library, const kafka_setting *settings, size_t count, char *why,
                      size_t why_size)
{
    void *conf = library->conf_new();
    for (size_t i = 0; i < count; i++) {
        if (library->conf_set(conf, settings[i].name, settings[i].value, why, why_size) != LIBRDKAFKA_SET) {
            library->conf_destroy(conf);
            return NULL;
        }
    }
    return conf;
}
