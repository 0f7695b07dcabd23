/* Columns in the making, in Arrow's layout: values, offsets, validity.
 *
 * What a record has written can be taken back, as long as its columns' lengths before it are known;
 * nothing is noted for it while rows are good. This file must not know Avro.
 */
#ifndef KAFKAICEBERG_AVRO_BUILDERS_H
#define KAFKAICEBERG_AVRO_BUILDERS_H

#include "program.h"

typedef struct {
    const avro_shape *shape;
    int64_t length, capacity;
    uint8_t *validity; /* none until the first null */
    uint8_t *values;   /* bits, values, or offsets */
    int64_t data_length, data_capacity;
    uint8_t *data;
} avro_builder;

/* Each returns CODE_NONE, CODE_TOO_MUCH or CODE_NO_MEMORY. */
int avro_grow(avro_builder *builder, int64_t capacity);
int avro_grow_data(avro_builder *builder, int64_t size);
int avro_append_null(avro_builder *all, int32_t place);
int avro_append_empty(avro_builder *all, int32_t place);

void avro_roll_back(avro_builder *all, int32_t place, int64_t length);

/* Whether parts are as long as what they are parts of. */
int avro_is_sound(const avro_builder *all, int32_t place);

static inline int avro_make_room(avro_builder *builder) {
    return builder->length < builder->capacity ? CODE_NONE : avro_grow(builder, builder->length + 1);
}

/* Room for so many bytes more; a builder never has room for more than offsets can tell. */
static inline int avro_make_data_room(avro_builder *builder, int64_t size) {
    return size <= builder->data_capacity - builder->data_length ? CODE_NONE : avro_grow_data(builder, size);
}

static inline int32_t *avro_offsets(const avro_builder *builder) { return (int32_t *)(void *)builder->values; }

#endif
