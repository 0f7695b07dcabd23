/* Decimals out of bytes. Nothing here knows steps or builders. */
#ifndef KAFKAICEBERG_AVRO_VALUES_H
#define KAFKAICEBERG_AVRO_VALUES_H

#include <stdint.h>

/* A big-endian number times a power of ten as a little-endian one of 16 bytes. Returns CODE_NONE,
 * CODE_RANGE or CODE_ROUNDED. */
int avro_scale_decimal(const uint8_t *bytes, int64_t size, int64_t times, int64_t precision, uint8_t *found);

#endif
