/* Numbers out of text, exactly. See numbers.c. */
#ifndef KAFKAICEBERG_JSON_NUMBERS_H
#define KAFKAICEBERG_JSON_NUMBERS_H

#include <stdint.h>

/* A decimal number as it is written. */
typedef struct {
    const uint8_t *start, *end;
    uint64_t digits;  /* all of them as one number, if there are no more than 19 from the first that counts */
    int64_t exponent; /* of ten, to multiply them with */
    int is_negative;
    int is_whole; /* written without fraction and exponent */
    int is_long;  /* has more digits than that */
} json_number;

/* Each returns 1, or 0 for what is not plainly right. */

/* Reads what begins here; leading zeros are for text, JSON has none. */
int json_read_number(const uint8_t *at, const uint8_t *end, int may_have_zeros, json_number *found);

/* Reads a whole number that is not followed by a fraction or an exponent, and moves behind it. */
int json_read_whole(const uint8_t **at, const uint8_t *end, int64_t *found);

/* The double that is nearest. */
int json_to_double(const json_number *number, double *found);

/* The number times a power of ten, as 16 bytes, if that is whole and has so many digits at most. */
int json_to_decimal(const json_number *number, int64_t precision, int64_t scale, uint8_t *found);

/* To be called once; 0 if there is not enough memory. */
int json_prepare_numbers(void);

#endif
