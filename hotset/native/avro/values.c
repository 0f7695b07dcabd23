/* Decimals out of bytes. See values.h. */
#include "values.h"

#include <string.h>

#include "../arrow/powers.h"
#include "program.h"

#define INT128_BYTES 16

typedef unsigned __int128 uint128;

/* Divides a big-endian number in place and returns the rest. */
static int divide_by_ten(uint8_t *number, int size) {
    int rest = 0;
    for (int i = 0; i < size; i++) {
        int part = rest * 256 + number[i];
        number[i] = (uint8_t)(part / 10);
        rest = part % 10;
    }
    return rest;
}

static int is_zero(const uint8_t *number, int size) {
    for (int i = 0; i < size; i++) {
        if (number[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* The absolute value, big-endian, with the bytes before it left as zeros. */
static void absolute(const uint8_t *bytes, int size, int is_negative, uint8_t *number) {
    memset(number, 0, AVRO_MAX_DECIMAL_BYTES);
    int carry = is_negative;
    for (int i = 1; i <= size; i++) {
        int byte = is_negative ? (bytes[size - i] ^ 0xff) + carry : bytes[size - i];
        carry = byte >> 8;
        number[AVRO_MAX_DECIMAL_BYTES - i] = (uint8_t)byte;
    }
}

/* Multiplies, and holds the result against the precision. */
static int widen(uint128 *value, int64_t times, int64_t precision) {
    if (*value == 0) {
        return CODE_NONE;
    }
    if (times > precision || *value >= arrow_power_of_ten(precision - times)) {
        return CODE_RANGE;
    }
    *value *= arrow_power_of_ten(times);
    return CODE_NONE;
}

/* A number that has to be divided may be longer than any column's. */
static int narrow(const uint8_t *bytes, int size, int is_negative, int64_t times, uint128 *value) {
    uint8_t number[AVRO_MAX_DECIMAL_BYTES];
    absolute(bytes, size, is_negative, number);
    for (; times < 0 && !is_zero(number, AVRO_MAX_DECIMAL_BYTES); times++) {
        if (divide_by_ten(number, AVRO_MAX_DECIMAL_BYTES) != 0) {
            return CODE_ROUNDED;
        }
    }
    if (!is_zero(number, AVRO_MAX_DECIMAL_BYTES - INT128_BYTES)) {
        return CODE_RANGE;
    }
    *value = 0;
    for (int i = AVRO_MAX_DECIMAL_BYTES - INT128_BYTES; i < AVRO_MAX_DECIMAL_BYTES; i++) {
        *value = *value << 8 | number[i];
    }
    return CODE_NONE;
}

int avro_scale_decimal(const uint8_t *bytes, int64_t size, int64_t times, int64_t precision, uint8_t *found) {
    int is_negative = size > 0 && bytes[0] >= 0x80;
    uint8_t sign = is_negative ? 0xff : 0;
    while (size > 1 && bytes[0] == sign && (bytes[1] >= 0x80) == is_negative) {
        bytes++;
        size--;
    }
    if (size > (times < 0 ? AVRO_MAX_DECIMAL_BYTES : INT128_BYTES)) {
        return CODE_RANGE;
    }
    uint128 value = is_negative ? ~(uint128)0 : 0;
    if (times < 0) {
        int code = narrow(bytes, (int)size, is_negative, times, &value);
        if (code != CODE_NONE) {
            return code;
        }
    } else {
        for (int64_t i = 0; i < size; i++) {
            value = value << 8 | bytes[i];
        }
        value = is_negative ? ~value + 1 : value;
    }
    int code = widen(&value, times < 0 ? 0 : times, precision);
    value = is_negative ? ~value + 1 : value;
    memcpy(found, &value, INT128_BYTES);
    return code;
}
