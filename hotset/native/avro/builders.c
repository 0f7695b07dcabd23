/* Columns in the making: growing, nulls, and taking back. See builders.h. */
#include "builders.h"

#include <stdlib.h>
#include <string.h>

static int64_t bytes_of(const avro_shape *shape, int64_t capacity) {
    switch (shape->kind) {
    case KIND_BIT:
        return capacity / 8;
    case KIND_FIXED:
        return capacity * shape->width;
    case KIND_STRUCT:
        return 0;
    default:
        return (capacity + 1) * (int64_t)sizeof(int32_t);
    }
}

static int resize(uint8_t **buffer, int64_t old_size, int64_t new_size, int fill) {
    /* One byte more than asked for, because nothing may be had for nothing. Fresh zeros cost least. */
    uint8_t *grown = *buffer == NULL && fill == 0 ? calloc((size_t)new_size + 1, 1)
                                                  : realloc(*buffer, (size_t)new_size + 1);
    if (grown == NULL) {
        return CODE_NO_MEMORY;
    }
    if (*buffer != NULL || fill != 0) {
        memset(grown + old_size, fill, (size_t)(new_size - old_size));
    }
    *buffer = grown;
    return CODE_NONE;
}

int avro_grow(avro_builder *builder, int64_t capacity) {
    if (capacity > INT32_MAX - 64) {
        return CODE_TOO_MUCH;
    }
    int64_t doubled = builder->capacity * 2;
    capacity = capacity < doubled ? doubled : capacity;
    capacity = (capacity + 63) / 64 * 64;
    int64_t old_size = builder->values == NULL ? 0 : bytes_of(builder->shape, builder->capacity);
    if (resize(&builder->values, old_size, bytes_of(builder->shape, capacity), 0) != CODE_NONE) {
        return CODE_NO_MEMORY;
    }
    if (builder->validity != NULL &&
        resize(&builder->validity, builder->capacity / 8, capacity / 8, 0xff) != CODE_NONE) {
        return CODE_NO_MEMORY;
    }
    builder->capacity = capacity;
    return CODE_NONE;
}

int avro_grow_data(avro_builder *builder, int64_t size) {
    int64_t wanted = builder->data_length + size;
    if (wanted > INT32_MAX) {
        return CODE_TOO_MUCH;
    }
    int64_t capacity = builder->data_capacity < 1024 ? 1024 : builder->data_capacity * 2;
    capacity = capacity > INT32_MAX ? INT32_MAX : capacity;
    capacity = capacity < wanted ? wanted : capacity;
    uint8_t *grown = realloc(builder->data, (size_t)capacity);
    if (grown == NULL) {
        return CODE_NO_MEMORY;
    }
    builder->data = grown;
    builder->data_capacity = capacity;
    return CODE_NONE;
}

int avro_append_empty(avro_builder *all, int32_t place) {
    avro_builder *builder = &all[place];
    const avro_shape *shape = builder->shape;
    int code = avro_make_room(builder);
    if (code != CODE_NONE) {
        return code;
    }
    int64_t at = builder->length;
    if (shape->kind == KIND_BIT) {
        builder->values[at / 8] &= (uint8_t) ~(1 << at % 8);
    } else if (shape->kind == KIND_FIXED) {
        memset(builder->values + at * shape->width, 0, (size_t)shape->width);
    } else if (shape->kind != KIND_STRUCT) {
        avro_offsets(builder)[at + 1] = avro_offsets(builder)[at];
    } else {
        for (int32_t i = 0; i < shape->child_count; i++) {
            code = avro_append_empty(all, shape->children[i]);
            if (code != CODE_NONE) {
                return code;
            }
        }
    }
    builder->length = at + 1;
    return CODE_NONE;
}

int avro_append_null(avro_builder *all, int32_t place) {
    avro_builder *builder = &all[place];
    int64_t at = builder->length;
    int code = avro_append_empty(all, place);
    if (code != CODE_NONE) {
        return code;
    }
    if (builder->validity == NULL && resize(&builder->validity, 0, builder->capacity / 8, 0xff) != CODE_NONE) {
        return CODE_NO_MEMORY;
    }
    builder->validity[at / 8] &= (uint8_t) ~(1 << at % 8);
    return CODE_NONE;
}

void avro_roll_back(avro_builder *all, int32_t place, int64_t length) {
    avro_builder *builder = &all[place];
    const avro_shape *shape = builder->shape;
    if (builder->validity != NULL) {
        for (int64_t at = length; at < builder->length; at++) {
            builder->validity[at / 8] |= (uint8_t)(1 << at % 8);
        }
    }
    if (builder->length > length) {
        builder->length = length;
    }
    if (shape->kind == KIND_BYTES && builder->values != NULL) {
        builder->data_length = avro_offsets(builder)[length];
    }
    for (int32_t i = 0; i < shape->child_count; i++) {
        int64_t kept = length;
        if (shape->kind == KIND_LIST) {
            kept = builder->values == NULL ? 0 : avro_offsets(builder)[length];
        }
        avro_roll_back(all, shape->children[i], kept);
    }
}

int avro_is_sound(const avro_builder *all, int32_t place) {
    const avro_builder *builder = &all[place];
    int64_t length = builder->length;
    if (builder->shape->kind == KIND_LIST) {
        length = builder->values == NULL ? 0 : avro_offsets(builder)[length];
    }
    for (int32_t i = 0; i < builder->shape->child_count; i++) {
        int32_t child = builder->shape->children[i];
        if (all[child].length != length || !avro_is_sound(all, child)) {
            return 0;
        }
    }
    return 1;
}
