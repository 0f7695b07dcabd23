/* Questions to a cluster of which an answer has thousands of parts: offsets of all partitions, and a topic.
 *
 * The Python client makes an object of locks for each partition that it asks about, which takes longer than the
 * cluster does. It must not know of Python; each question is one thread's, and any number may be asked at once.
 */
#ifndef HOTSET_QUESTIONS_H
#define HOTSET_QUESTIONS_H

#include "librdkafka.h"

enum { QUESTIONS_TEXT = 512, QUESTIONS_TROUBLES = 32, QUESTIONS_ID = 64 };

/* Something about a connection: an error, or a line of the log where that is 0. */
typedef struct {
    int error;
    char text[QUESTIONS_TEXT];
} asker_trouble;

/* A handle that questions are asked with. */
typedef struct {
    const librdkafka *library;
    void *handle;
    asker_trouble troubles[QUESTIONS_TROUBLES];
    size_t trouble_count;
} asker;

typedef enum { QUESTION_OF_OFFSETS, QUESTION_OF_TOPIC } question_kind;

/* A question, and its answer once it is there. */
typedef struct {
    asker *from;
    question_kind kind;
    void *queue;
    int error; /* of the whole or of the first part that has one, or 0 */
    char text[QUESTIONS_TEXT];
    size_t count; /* partitions in the answer */
    int32_t *partitions;
    int64_t *offsets;       /* of a question of offsets */
    int32_t *leader_epochs; /* the same; -1 if not known */
    char topic_id[QUESTIONS_ID];
} question;

/* Open a handle with these settings; 0, or -1 and why not. The structure must not move afterwards. */
int asker_open(asker *self, const librdkafka *library, const kafka_setting *settings, size_t count, char *why,
               size_t why_size);

/* Let the handle say what it has noted about its connections. */
void asker_poll(asker *self);

/* Give everything back. */
void asker_close(asker *self);

/* Ask for one kind of offset (-1 the latest, -2 the earliest) of so many partitions from a first one on; 0, or
 * -1 and why not. */
int question_ask_offsets(question *self, asker *from, const char *topic, size_t first, size_t count,
                         int64_t kind, int is_committed, int timeout_ms, char *why, size_t why_size);

/* Ask who a topic is and which partitions it has; 0, or -1 and why not. */
int question_ask_topic(question *self, asker *from, const char *topic, int timeout_ms, char *why,
                       size_t why_size);

/* Wait so long for the answer; 1 if it is there, 0 if not, -1 without memory. */
int question_wait(question *self, int wait_ms);

/* Give everything back; an answer that comes later is nobody's. */
void question_close(question *self);

#endif
