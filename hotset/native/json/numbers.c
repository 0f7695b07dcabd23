/* Numbers out of text, exactly. See numbers.h.
 *
 * A double is computed only where each step is exact but the last, which the processor rounds once; else
 * the C library does it. This file must not know JSON's other values or columns.
 */
#include "numbers.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "../arrow/powers.h"

#if FLT_EVAL_METHOD != 0 || FLT_RADIX != 2 || DBL_MANT_DIG != 53
#error "doubles are rounded twice here"
#endif

typedef unsigned __int128 uint128;

enum {
    MOST_DIGITS = 19,          /* of which no number is more than 64 bits long */
    MOST_DECIMAL_DIGITS = 38,
    MOST_TEXT = 200,           /* that is handed to the C library */
    LARGEST_EXPONENT = 100000,
    EXACT_POWER = 22,          /* the largest power of ten that is a double */
};
static const uint64_t EXACT_DIGITS = (uint64_t)1 << DBL_MANT_DIG;

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static locale_t plain_locale;

int json_prepare_numbers(void) {
    /* Whatever the process says of decimal points, JSON has dots. */
    if (plain_locale == (locale_t)0) {
        plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    }
    return plain_locale != (locale_t)0;
}

static inline int is_digit(const uint8_t *at, const uint8_t *end) { return at < end && (uint8_t)(*at - '0') < 10; }

static inline const uint8_t *read_digits(const uint8_t *at, const uint8_t *end, uint64_t *digits) {
    for (; is_digit(at, end); at++) {
        *digits = *digits * 10 + (uint64_t)(*at - '0'); /* with too many it is not looked at */
    }
    return at;
}

/* Reads an exponent behind its letter. NULL if there is none, or none that a column could hold. */
static const uint8_t *read_exponent(const uint8_t *at, const uint8_t *end, int64_t *exponent) {
    int is_negative = at < end && *at == '-';
    if (is_negative || (at < end && *at == '+')) {
        at++;
    }
    const uint8_t *start = at;
    int64_t found = 0;
    for (; is_digit(at, end); at++) {
        found = found * 10 + (*at - '0');
        if (found > LARGEST_EXPONENT) {
            return NULL;
        }
    }
    *exponent += is_negative ? -found : found;
    return at == start ? NULL : at;
}

/* How many digits there are from the first that is not zero. */
static int64_t count_digits(const uint8_t *at, const uint8_t *end) {
    int64_t count = 0;
    for (; at < end && (is_digit(at, end) || *at == '.'); at++) {
        count += *at != '.' && (count > 0 || *at != '0');
    }
    return count;
}

int json_read_number(const uint8_t *at, const uint8_t *end, int may_have_zeros, json_number *found) {
    *found = (json_number){.start = at, .is_negative = at < end && *at == '-', .is_whole = 1};
    at += found->is_negative;
    const uint8_t *first = at;
    at = read_digits(at, end, &found->digits);
    if (at == first || (!may_have_zeros && *first == '0' && at - first > 1)) {
        return 0;
    }
    if (at < end && *at == '.') {
        const uint8_t *fraction = at + 1;
        at = read_digits(fraction, end, &found->digits);
        if (at == fraction) {
            return 0;
        }
        found->exponent = fraction - at;
        found->is_whole = 0;
    }
    found->is_long = at - first > MOST_DIGITS && count_digits(first, at) > MOST_DIGITS;
    if (at < end && (*at | 0x20) == 'e') {
        at = read_exponent(at + 1, end, &found->exponent);
        found->is_whole = 0;
    }
    found->end = at;
    return at != NULL;
}

int json_read_whole(const uint8_t **at, const uint8_t *end, int64_t *found) {
    int is_negative = *at < end && **at == '-';
    const uint8_t *first = *at + is_negative;
    uint64_t digits = 0;
    const uint8_t *behind = read_digits(first, end, &digits);
    if (behind == first || behind - first > MOST_DIGITS || (*first == '0' && behind - first > 1) ||
        digits > (uint64_t)INT64_MAX + (uint64_t)is_negative) {
        return 0;
    }
    if (behind < end && (*behind == '.' || (*behind | 0x20) == 'e')) {
        return 0;
    }
    *found = is_negative ? (int64_t)(~digits + 1) : (int64_t)digits;
    *at = behind;
    return 1;
}

/* By the C library, which rounds rightly and is slower. */
static int slow_double(const json_number *number, double *found) {
    char text[MOST_TEXT + 1];
    size_t size = (size_t)(number->end - number->start);
    if (size > MOST_TEXT) {
        return 0;
    }
    memcpy(text, number->start, size);
    text[size] = 0;
    char *end;
    *found = strtod_l(text, &end, plain_locale);
    return end == text + size && isfinite(*found);
}

/* Digits over a power of ten, by whole numbers: 64 bits of the result are more than a double keeps, and
 * the last of them says whether there are more. */
static double quotient(uint64_t digits, int64_t power) {
    int shift = __builtin_clzll(digits);
    uint128 dividend = (uint128)(digits << shift) << 64;
    uint128 divisor = arrow_power_of_ten(power);
    uint128 found = dividend / divisor;
    found |= dividend % divisor != 0;
    return ldexp((double)found, -64 - shift);
}

/* The absolute value of a number that is not zero. */
static int positive_double(const json_number *number, double *found) {
    int64_t exponent = number->exponent;
    if (number->is_long || exponent < -EXACT_POWER || exponent > EXACT_POWER) {
        return 0;
    }
    if (number->digits <= EXACT_DIGITS) {
        double whole = (double)number->digits;
        *found = exponent < 0 ? whole / POWERS[-exponent] : whole * POWERS[exponent];
        return 1;
    }
    if (exponent < -MOST_DIGITS || exponent > MOST_DIGITS) {
        return 0;
    }
    *found = exponent < 0 ? quotient(number->digits, -exponent)
                          : (double)((uint128)number->digits * arrow_power_of_ten(exponent));
    return 1;
}

int json_to_double(const json_number *number, double *found) {
    if (number->digits == 0 && !number->is_long) {
        /* A whole number has no negative zero. */
        *found = number->is_negative && !number->is_whole ? -0.0 : 0.0;
        return 1;
    }
    if (!positive_double(number, found)) {
        return slow_double(number, found);
    }
    *found = number->is_negative ? -*found : *found;
    return 1;
}

/* All digits as one number, if there are not more than any decimal has. */
static int all_digits(const json_number *number, uint128 *found) {
    if (!number->is_long) {
        *found = number->digits;
        return 1;
    }
    const uint8_t *at = number->start + number->is_negative;
    if (count_digits(at, number->end) > MOST_DECIMAL_DIGITS) {
        return 0;
    }
    for (*found = 0; at < number->end && (*at == '.' || is_digit(at, number->end)); at++) {
        if (*at != '.') {
            *found = *found * 10 + (uint128)(*at - '0');
        }
    }
    return 1;
}

int json_to_decimal(const json_number *number, int64_t precision, int64_t scale, uint8_t *found) {
    uint128 value;
    int64_t shift = number->exponent + scale;
    if (!all_digits(number, &value)) {
        return 0;
    }
    if (value != 0) {
        if (shift > precision || shift < -MOST_DECIMAL_DIGITS) {
            return 0;
        }
        if (shift < 0) {
            uint128 unit = arrow_power_of_ten(-shift);
            if (value % unit != 0) {
                return 0;
            }
            value /= unit;
            shift = 0;
        }
        if (value >= arrow_power_of_ten(precision - shift)) {
            return 0;
        }
        value *= arrow_power_of_ten(shift);
    }
    value = number->is_negative ? ~value + 1 : value;
    memcpy(found, &value, sizeof(value));
    return 1;
}
