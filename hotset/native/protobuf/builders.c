/* Growing columns in Arrow's layout: buffers are doubled as they fill, and every size is checked.
 *
 * This file must not know what values mean.
 */
#include "builders.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 256 };

static int reserve(growing *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->used) {
        return DONE;
    }
    if (more > SIZE_MAX / 4 || buffer->capacity > SIZE_MAX / 4) {
        return NO_MEMORY;
    }
    size_t capacity = buffer->capacity < SMALLEST ? SMALLEST : buffer->capacity * 2;
    if (capacity < buffer->used + more) {
        capacity = buffer->used + more;
    }
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return NO_MEMORY;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return DONE;
}

static int append(growing *buffer, const void *bytes, size_t size)
{
    if (reserve(buffer, size) != DONE) {
        return NO_MEMORY;
    }
    if (size > 0) {
        memcpy(buffer->bytes + buffer->used, bytes, size);
    }
    buffer->used += size;
    return DONE;
}

/* Set bit number `at`, which is at most the one behind the last. */
static int put_bit(growing *bits, size_t at, int is_set)
{
    if (at / 8 >= bits->used) {
        const uint8_t none = 0;
        if (append(bits, &none, 1) != DONE) {
            return NO_MEMORY;
        }
    }
    const uint8_t mask = (uint8_t)(1U << (at % 8));
    if (is_set) {
        bits->bytes[at / 8] |= mask;
    } else {
        bits->bytes[at / 8] &= (uint8_t)~mask;
    }
    return DONE;
}

static int count_value(builder *to, int is_valid)
{
    if (to->length >= INT32_MAX) {
        return REFUSED;
    }
    if (put_bit(&to->validity, to->length, is_valid) != DONE) {
        return NO_MEMORY;
    }
    to->length++;
    to->nulls += !is_valid;
    return DONE;
}

static int add_end(builder *to, size_t end)
{
    const int32_t zero = 0, wanted = (int32_t)end;
    if (to->ends.used == 0 && append(&to->ends, &zero, sizeof zero) != DONE) {
        return NO_MEMORY;
    }
    return append(&to->ends, &wanted, sizeof wanted);
}

int add_bit(builder *to, int is_set)
{
    if (put_bit(&to->data, to->length, is_set) != DONE) {
        return NO_MEMORY;
    }
    return count_value(to, 1);
}

int add_fixed(builder *to, const void *value)
{
    if (append(&to->data, value, (size_t)to->width) != DONE) {
        return NO_MEMORY;
    }
    return count_value(to, 1);
}

int add_bytes(builder *to, const uint8_t *value, size_t size)
{
    if (size > (size_t)INT32_MAX - to->data.used) {
        return REFUSED;
    }
    if (append(&to->data, value, size) != DONE || add_end(to, to->data.used) != DONE) {
        return NO_MEMORY;
    }
    return count_value(to, 1);
}

int add_list(builder *to)
{
    if (add_end(to, to->children->length) != DONE) {
        return NO_MEMORY;
    }
    return count_value(to, 1);
}

int add_struct(builder *to)
{
    return count_value(to, 1);
}

static int add_zeros(growing *buffer, size_t size)
{
    if (reserve(buffer, size) != DONE) {
        return NO_MEMORY;
    }
    memset(buffer->bytes + buffer->used, 0, size);
    buffer->used += size;
    return DONE;
}

int add_null(builder *to)
{
    int done = DONE;
    switch (to->kind) {
    case BUILDER_BIT:
        done = put_bit(&to->data, to->length, 0);
        break;
    case BUILDER_FIXED:
        done = add_zeros(&to->data, (size_t)to->width);
        break;
    case BUILDER_BYTES:
        done = add_end(to, to->data.used);
        break;
    case BUILDER_LIST:
        done = add_end(to, to->children->length);
        break;
    default:
        for (int64_t at = 0; at < to->child_count && done == DONE; at++) {
            done = add_null(to->children + at);
        }
    }
    return done == DONE ? count_value(to, 0) : done;
}

void begin_row(builder *all, size_t count)
{
    for (builder *each = all; each < all + count; each++) {
        each->row_length = each->length;
        each->row_nulls = each->nulls;
        each->row_data = each->data.used;
    }
}

void forget_row(builder *all, size_t count)
{
    for (builder *each = all; each < all + count; each++) {
        each->length = each->row_length;
        each->nulls = each->row_nulls;
        each->data.used = each->row_data;
        each->validity.used = (each->length + 7) / 8;
        if (each->ends.used > 0) {
            each->ends.used = (each->length + 1) * sizeof(int32_t);
        }
    }
}

void builder_free(builder *of)
{
    free(of->validity.bytes);
    free(of->ends.bytes);
    free(of->data.bytes);
    of->validity = of->ends = of->data = (growing){0};
}
