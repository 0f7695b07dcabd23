/* Columns in the making, in Arrow's layout: values, offsets, validity.
 *
 * What a record has written can be taken back, as long as its columns' lengths before it are known;
 * nothing is noted for it while rows are good. This file must not know formats or Python.
 */
#ifndef KAFKAICEBERG_ARROW_BUILDERS_H
#define KAFKAICEBERG_ARROW_BUILDERS_H

#include <stddef.h>
#include <stdint.h>

enum arrow_kind { ARROW_BIT = 0, ARROW_FIXED, ARROW_BYTES, ARROW_LIST, ARROW_STRUCT, ARROW_KIND_COUNT };

/* What functions return that may fail; what a format has to say of its own is above 0. */
enum { ARROW_DONE = 0, ARROW_TOO_MUCH = -1, ARROW_NO_MEMORY = -2 };

typedef struct {
    int32_t kind;
    int32_t is_nullable;
    int64_t width;
    const int32_t *children;
    int32_t child_count;
} arrow_shape;

typedef struct {
    const arrow_shape *shape;
    int64_t length, capacity;
    uint8_t *validity; /* none until the first null */
    uint8_t *values;   /* bits, values, or offsets */
    int64_t data_length, data_capacity;
    uint8_t *data;
} arrow_builder;

/* Each returns ARROW_DONE, ARROW_TOO_MUCH or ARROW_NO_MEMORY. */
int arrow_grow(arrow_builder *builder, int64_t capacity);
int arrow_grow_data(arrow_builder *builder, int64_t size);
int arrow_append_null(arrow_builder *all, int32_t place);
int arrow_append_empty(arrow_builder *all, int32_t place);

void arrow_roll_back(arrow_builder *all, int32_t place, int64_t length);

/* Whether parts are as long as what they are parts of. */
int arrow_is_sound(const arrow_builder *all, int32_t place);

/* Whether all values have as many bytes as one of two widths. */
static inline int arrow_has_width(const arrow_shape *shape, int64_t one, int64_t other) {
    return shape->kind == ARROW_FIXED && (shape->width == one || shape->width == other);
}

static inline int arrow_make_room(arrow_builder *builder) {
    return builder->length < builder->capacity ? ARROW_DONE : arrow_grow(builder, builder->length + 1);
}

/* Room for so many bytes more; a builder never has room for more than offsets can tell. */
static inline int arrow_make_data_room(arrow_builder *builder, int64_t size) {
    return size <= builder->data_capacity - builder->data_length ? ARROW_DONE : arrow_grow_data(builder, size);
}

static inline int32_t *arrow_offsets(const arrow_builder *builder) { return (int32_t *)(void *)builder->values; }

static inline int arrow_append_bit(arrow_builder *builder, int is_set) {
    int code = arrow_make_room(builder);
    if (code == ARROW_DONE) {
        int64_t at = builder->length++;
        uint8_t bit = (uint8_t)(1 << at % 8);
        builder->values[at / 8] = (uint8_t)(is_set ? builder->values[at / 8] | bit : builder->values[at / 8] & ~bit);
    }
    return code;
}

/* A value of the next so many bytes, which the data has already; there must be room for it. */
static inline void arrow_end_bytes(arrow_builder *builder, int64_t size) {
    builder->data_length += size;
    arrow_offsets(builder)[++builder->length] = (int32_t)builder->data_length;
}

/* A list of the items that its child has got since the last one. */
static inline int arrow_append_list(const arrow_builder *all, arrow_builder *list) {
    int code = arrow_make_room(list);
    if (code == ARROW_DONE) {
        arrow_offsets(list)[++list->length] = (int32_t)all[list->shape->children[0]].length;
    }
    return code;
}

#endif
