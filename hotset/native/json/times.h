/* Dates and times out of text. Each returns 1, or 0 for what is not plainly right. */
#ifndef KAFKAICEBERG_JSON_TIMES_H
#define KAFKAICEBERG_JSON_TIMES_H

#include <stdint.h>

/* "YYYY-MM-DD", as days since 1970. */
int json_read_date(const uint8_t *text, int64_t size, int32_t *days);

/* "HH:MM:SS[.ffffff]", as microseconds. */
int json_read_time(const uint8_t *text, int64_t size, int64_t *micros);

/* A date, "T" or a space, a time with at least minutes, and an offset from UTC or none, as wanted; in units of
 * a second's fraction of 6 or 9 digits. */
int json_read_timestamp(const uint8_t *text, int64_t size, int has_offset, int64_t digits, int64_t *found);

#endif
