/* Growing buffers in Arrow's layout: doubled as they fill, every size checked.
 *
 * Memory that was never written to takes no room, so a buffer may be larger than what is in it. This file
 * must not know what the values are.
 */
#include "columns.h"

#include <stdlib.h>

enum { SMALLEST = 4096 };

int growing_reserve(growing *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->used) {
        return 0;
    }
    if (more > SIZE_MAX / 4 || buffer->capacity > SIZE_MAX / 4) {
        return -1;
    }
    size_t capacity = buffer->capacity * 2;
    if (buffer->capacity == 0) {
        capacity = buffer->expected < SMALLEST ? SMALLEST : buffer->expected;
    }
    if (capacity < buffer->used + more) {
        capacity = buffer->used + more;
    }
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return -1;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

void growing_free(growing *buffer)
{
    free(buffer->bytes);
    *buffer = (growing){0};
}

growing growing_give(growing *buffer)
{
    growing given = *buffer;
    *buffer = (growing){.expected = given.used + given.used / 16};
    return given;
}

int bits_add(growing *bits, size_t row, int is_set)
{
    size_t at = row / 8;
    if (at == bits->used) {
        const uint8_t none = 0;
        if (growing_add(bits, &none, 1) != 0) {
            return -1;
        }
    }
    if (is_set) {
        bits->bytes[at] |= (uint8_t)(1U << (row % 8));
    }
    return 0;
}

int binary_fits(const binary_column *column, size_t size)
{
    return size <= (size_t)INT32_MAX - column->data.used;
}

int binary_add(binary_column *column, const void *value, size_t size)
{
    size = value == NULL ? 0 : size;
    if (!binary_fits(column, size)) {
        return -1;
    }
    const int32_t zero = 0;
    if (column->ends.used == 0 && growing_add(&column->ends, &zero, sizeof zero) != 0) {
        return -1;
    }
    /* Room first, so that a failure leaves the column as it was. */
    if (growing_reserve(&column->ends, sizeof zero) != 0 || growing_reserve(&column->data, size) != 0 ||
        bits_add(&column->validity, column->rows, value != NULL) != 0) {
        return -1;
    }
    (void)growing_add(&column->data, value, size);
    const int32_t end = (int32_t)column->data.used;
    (void)growing_add(&column->ends, &end, sizeof end);
    column->rows++;
    column->nulls += value == NULL;
    return 0;
}

void binary_free(binary_column *column)
{
    growing_free(&column->ends);
    growing_free(&column->data);
    growing_free(&column->validity);
    *column = (binary_column){0};
}
