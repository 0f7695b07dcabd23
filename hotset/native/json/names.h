/* Names of fields, told apart with few looks at their bytes. See names.c. */
#ifndef KAFKAICEBERG_JSON_NAMES_H
#define KAFKAICEBERG_JSON_NAMES_H

#include <string.h>

#include "program.h"

static inline uint64_t json_eight(const uint8_t *from) {
    uint64_t found;
    memcpy(&found, from, sizeof(found));
    return found;
}

json_name json_name_of(const uint8_t *bytes, int32_t size);

static inline int json_same_name(const json_name *one, const json_name *other) {
    return one->size == other->size && one->first == other->first && one->last == other->last &&
           (one->size <= 16 || memcmp(one->bytes + 8, other->bytes + 8, (size_t)one->size - 16) == 0);
}

/* Whether a name stands here; at least as many bytes as it has can be read, and all up to `limit`. */
static inline int json_is_name(const json_name *name, const uint8_t *at, const uint8_t *limit) {
    if (name->size < 8 && name->size > 0 && limit - at >= 8) {
        return (json_eight(at) ^ name->first) << (64 - 8 * name->size) == 0;
    }
    if (name->size < 8) {
        return memcmp(at, name->bytes, (size_t)name->size) == 0;
    }
    return json_eight(at) == name->first && json_eight(at + name->size - 8) == name->last &&
           (name->size <= 16 || memcmp(at + 8, name->bytes + 8, (size_t)name->size - 16) == 0);
}

/* Names of fields that no node was for, with the node that they stood in; the first of them alone. */
enum { JSON_MOST_UNKNOWN = 64, JSON_UNKNOWN_SLOTS = 256 };

typedef struct {
    int32_t place;
    json_name name;
} json_unknown;

typedef struct {
    json_unknown found[JSON_MOST_UNKNOWN];
    uint8_t slots[JSON_UNKNOWN_SLOTS]; /* one more than a place in `found`; 0 for none */
    int32_t count;
} json_unknowns;

/* Keeps a name, whose bytes stay where they are. */
void json_keep_unknown(json_unknowns *unknowns, int32_t place, const json_name *name);

/* Forgets all but the first so many. */
void json_forget_unknown(json_unknowns *unknowns, int32_t count);

/* How many slots the table of a node's names takes: a power of two. */
int64_t json_slot_count(int64_t names);

/* Fills the table of a node, whose slots are all 0. */
void json_fill_slots(const json_program *program, json_node *node);

/* The child of that name, or -1. */
int32_t json_child_named(const json_program *program, const json_node *node, const json_name *name);

#endif
