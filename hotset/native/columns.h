/* Arrow's memory layout of raw records, growing as they arrive.
 *
 * Offsets are 32 bits wide as in Arrow's `binary`, so a column takes less than 2 GiB; what does not fit is
 * refused and never wrapped round. This file must not know of Kafka or of Python.
 */
#ifndef HOTSET_COLUMNS_H
#define HOTSET_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that grow; `bytes` is of malloc's. */
typedef struct {
    uint8_t *bytes;
    size_t used;
    size_t capacity;
    size_t expected; /* capacity to begin with */
} growing;

/* Values of any length, each of which may be null. */
typedef struct {
    growing ends; /* int32: a zero, then where each value ends */
    growing data;
    growing validity; /* a bit for each value */
    size_t rows;
    size_t nulls;
} binary_column;

/* Make room for so many more bytes; 0, or -1 if there is no memory. */
int growing_reserve(growing *buffer, size_t more);

/* Append bytes; 0, or -1 if there is no memory. */
static inline int growing_add(growing *buffer, const void *bytes, size_t size)
{
    if (size > buffer->capacity - buffer->used && growing_reserve(buffer, size) != 0) {
        return -1;
    }
    if (size > 0) {
        memcpy(buffer->bytes + buffer->used, bytes, size);
    }
    buffer->used += size;
    return 0;
}

void growing_free(growing *buffer);

/* Give the bytes away, and expect about as many next time. */
growing growing_give(growing *buffer);

/* Append a bit for row number `row`, counted from 0. */
int bits_add(growing *bits, size_t row, int is_set);

/* Append a value, or null if `value` is NULL; 0, or -1 if there is no memory or it does not fit. */
int binary_add(binary_column *column, const void *value, size_t size);
int binary_fits(const binary_column *column, size_t size);
void binary_free(binary_column *column);

#endif
