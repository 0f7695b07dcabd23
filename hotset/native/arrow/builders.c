/* Columns in the making: growing, nulls, and taking back. See builders.h. */
#include "builders.h"

#include <stdlib.h>
#include <string.h>

static int64_t bytes_of(const arrow_shape *shape, int64_t capacity) {
    switch (shape->kind) {
    case ARROW_BIT:
        return capacity / 8;
    case ARROW_FIXED:
        return capacity * shape->width;
    case ARROW_STRUCT:
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
        return ARROW_NO_MEMORY;
    }
    if (*buffer != NULL || fill != 0) {
        memset(grown + old_size, fill, (size_t)(new_size - old_size));
    }
    *buffer = grown;
    return ARROW_DONE;
}

int arrow_grow(arrow_builder *builder, int64_t capacity) {
    if (capacity > INT32_MAX - 64) {
        return ARROW_TOO_MUCH;
    }
    int64_t doubled = builder->capacity * 2;
    capacity = capacity < doubled ? doubled : capacity;
    capacity = (capacity + 63) / 64 * 64;
    int64_t old_size = builder->values == NULL ? 0 : bytes_of(builder->shape, builder->capacity);
    if (resize(&builder->values, old_size, bytes_of(builder->shape, capacity), 0) != ARROW_DONE) {
        return ARROW_NO_MEMORY;
    }
    if (builder->validity != NULL &&
        resize(&builder->validity, builder->capacity / 8, capacity / 8, 0xff) != ARROW_DONE) {
        return ARROW_NO_MEMORY;
    }
    builder->capacity = capacity;
    return ARROW_DONE;
}

int arrow_grow_data(arrow_builder *builder, int64_t size) {
    int64_t wanted = builder->data_length + size;
    if (wanted > INT32_MAX) {
        return ARROW_TOO_MUCH;
    }
    int64_t capacity = builder->data_capacity < 1024 ? 1024 : builder->data_capacity * 2;
    capacity = capacity > INT32_MAX ? INT32_MAX : capacity;
    capacity = capacity < wanted ? wanted : capacity;
    uint8_t *grown = realloc(builder->data, (size_t)capacity);
    if (grown == NULL) {
        return ARROW_NO_MEMORY;
    }
    builder->data = grown;
    builder->data_capacity = capacity;
    return ARROW_DONE;
}

int arrow_append_empty(arrow_builder *all, int32_t place) {
    arrow_builder *builder = &all[place];
    const arrow_shape *shape = builder->shape;
    int code = arrow_make_room(builder);
    if (code != ARROW_DONE) {
        return code;
    }
    int64_t at = builder->length;
    if (shape->kind == ARROW_BIT) {
        builder->values[at / 8] &= (uint8_t) ~(1 << at % 8);
    } else if (shape->kind == ARROW_FIXED) {
        memset(builder->values + at * shape->width, 0, (size_t)shape->width);
    } else if (shape->kind != ARROW_STRUCT) {
        arrow_offsets(builder)[at + 1] = arrow_offsets(builder)[at];
    } else {
        for (int32_t i = 0; i < shape->child_count; i++) {
            code = arrow_append_empty(all, shape->children[i]);
            if (code != ARROW_DONE) {
                return code;
            }
        }
    }
    builder->length = at + 1;
    return ARROW_DONE;
}

int arrow_append_null(arrow_builder *all, int32_t place) {
    arrow_builder *builder = &all[place];
    int64_t at = builder->length;
    int code = arrow_append_empty(all, place);
    if (code != ARROW_DONE) {
        return code;
    }
    if (builder->validity == NULL && resize(&builder->validity, 0, builder->capacity / 8, 0xff) != ARROW_DONE) {
        return ARROW_NO_MEMORY;
    }
    builder->validity[at / 8] &= (uint8_t) ~(1 << at % 8);
    return ARROW_DONE;
}

void arrow_roll_back(arrow_builder *all, int32_t place, int64_t length) {
    arrow_builder *builder = &all[place];
    const arrow_shape *shape = builder->shape;
    if (builder->validity != NULL) {
        for (int64_t at = length; at < builder->length; at++) {
            builder->validity[at / 8] |= (uint8_t)(1 << at % 8);
        }
    }
    if (builder->length > length) {
        builder->length = length;
    }
    if (shape->kind == ARROW_BYTES && builder->values != NULL) {
        builder->data_length = arrow_offsets(builder)[length];
    }
    for (int32_t i = 0; i < shape->child_count; i++) {
        int64_t kept = length;
        if (shape->kind == ARROW_LIST) {
            kept = builder->values == NULL ? 0 : arrow_offsets(builder)[length];
        }
        arrow_roll_back(all, shape->children[i], kept);
    }
}

int arrow_is_sound(const arrow_builder *all, int32_t place) {
    const arrow_builder *builder = &all[place];
    int64_t length = builder->length;
    if (builder->shape->kind == ARROW_LIST) {
        length = builder->values == NULL ? 0 : arrow_offsets(builder)[length];
    }
    for (int32_t i = 0; i < builder->shape->child_count; i++) {
        int32_t child = builder->shape->children[i];
        if (all[child].length != length || !arrow_is_sound(all, child)) {
            return 0;
        }
    }
    return 1;
}
