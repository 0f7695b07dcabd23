/* Records before they are read, as Arrow's `binary` keeps them: one behind another, and where each ends.
 *
 * This file must not know formats or Python.
 */
#ifndef KAFKAICEBERG_ARROW_PAYLOADS_H
#define KAFKAICEBERG_ARROW_PAYLOADS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const int32_t *offsets; /* one more than there are records */
    const uint8_t *data;
    int64_t size;
    const uint8_t *validity; /* none if no record is null */
    int64_t first, count;
} arrow_payloads;

static inline int arrow_is_null(const arrow_payloads *payloads, int64_t row) {
    int64_t place = payloads->first + row;
    return payloads->validity != NULL && !(payloads->validity[place / 8] >> place % 8 & 1);
}

/* Where a record is; 0 if the offsets are not those of the data. */
static inline int arrow_find(const arrow_payloads *payloads, int64_t row, const uint8_t **at, const uint8_t **end) {
    const int32_t *offsets = payloads->offsets + payloads->first + row;
    if (offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > payloads->size) {
        return 0;
    }
    *at = payloads->data + offsets[0];
    *end = payloads->data + offsets[1];
    return 1;
}

#endif
