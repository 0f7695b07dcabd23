/* Dates and times out of text, of the years 1 to 9999. See times.h.
 *
 * Other forms that the exact decoder takes are left to it. This file must not know columns.
 */
#include "times.h"

enum { DATE_SIZE = 10, DAY = 86400, MICROS = 6 };

static int two_digits(const uint8_t *at, int64_t *found) {
    uint8_t tens = (uint8_t)(at[0] - '0'), ones = (uint8_t)(at[1] - '0');
    *found = tens * 10 + ones;
    return tens < 10 && ones < 10;
}

static int is_leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int json_read_date(const uint8_t *text, int64_t size, int32_t *days) {
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const uint16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t century, year, month, day;
    if (size != DATE_SIZE || !two_digits(text, &century) || !two_digits(text + 2, &year) || text[4] != '-' ||
        !two_digits(text + 5, &month) || text[7] != '-' || !two_digits(text + 8, &day)) {
        return 0;
    }
    year += century * 100;
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && is_leap(year))) {
        return 0;
    }
    int64_t past = year - 1;
    int64_t found = past * 365 + past / 4 - past / 100 + past / 400;
    found += before[month - 1] + (month > 2 && is_leap(year)) + day - 1;
    *days = (int32_t)(found - 719162);
    return 1;
}

/* ".f" and more, up to so many digits, at the end of a time; as if it had them all. */
static int read_fraction(const uint8_t *text, int64_t size, int64_t digits, int64_t *found) {
    *found = 0;
    if (size < 2 || size > 1 + digits || text[0] != '.') {
        return 0;
    }
    for (int64_t i = 1; i <= digits; i++) {
        uint8_t digit = i < size ? (uint8_t)(text[i] - '0') : 0;
        if (digit > 9) {
            return 0;
        }
        *found = *found * 10 + digit;
    }
    return 1;
}

/* "HH:MM" */
static int read_minutes(const uint8_t *text, int64_t *minutes) {
    int64_t hour, minute;
    if (!two_digits(text, &hour) || text[2] != ':' || !two_digits(text + 3, &minute) || hour > 23 || minute > 59) {
        return 0;
    }
    *minutes = hour * 60 + minute;
    return 1;
}

static int64_t units_of(int64_t digits) { return digits == MICROS ? 1000000 : 1000000000; }

/* "HH:MM:SS" and a fraction. */
static int read_seconds(const uint8_t *text, int64_t size, int64_t digits, int64_t *seconds, int64_t *fraction) {
    int64_t minutes, second;
    if (size < 8 || !read_minutes(text, &minutes) || text[5] != ':' || !two_digits(text + 6, &second) ||
        second > 59) {
        return 0;
    }
    *seconds = minutes * 60 + second;
    *fraction = 0;
    return size == 8 || read_fraction(text + 8, size - 8, digits, fraction);
}

int json_read_time(const uint8_t *text, int64_t size, int64_t *micros) {
    int64_t seconds, fraction;
    if (!read_seconds(text, size, MICROS, &seconds, &fraction)) {
        return 0;
    }
    *micros = seconds * units_of(MICROS) + fraction;
    return 1;
}

/* "Z", "+HH", "+HHMM" or "+HH:MM" at the end; how many bytes it takes, or 0. */
static int64_t read_offset(const uint8_t *text, int64_t size, int64_t *seconds) {
    if (text[size - 1] == 'Z') {
        *seconds = 0;
        return 1;
    }
    /* Behind the date there is no other sign. */
    for (int64_t taken = 3; taken <= 6 && taken < size; taken++) {
        const uint8_t *at = text + size - taken;
        int64_t hour, minute = 0;
        if (*at != '+' && *at != '-') {
            continue;
        }
        if (taken == 4 || !two_digits(at + 1, &hour) || (taken == 6 && at[3] != ':') ||
            (taken > 4 && !two_digits(at + taken - 2, &minute)) || hour > 23 || minute > 59) {
            return 0;
        }
        *seconds = (hour * 60 + minute) * 60 * (*at == '-' ? -1 : 1);
        return taken;
    }
    return 0;
}

int json_read_timestamp(const uint8_t *text, int64_t size, int has_offset, int64_t digits, int64_t *found) {
    int32_t days;
    int64_t of_day, offset = 0, fraction = 0;
    if (size < DATE_SIZE + 6 || !json_read_date(text, DATE_SIZE, &days) ||
        (text[DATE_SIZE] != 'T' && text[DATE_SIZE] != ' ')) {
        return 0;
    }
    text += DATE_SIZE + 1;
    size -= DATE_SIZE + 1;
    if (has_offset) {
        int64_t taken = read_offset(text, size, &offset);
        if (taken == 0) {
            return 0;
        }
        size -= taken;
    }
    if (size == 5 && read_minutes(text, &of_day)) {
        of_day *= 60;
    } else if (!read_seconds(text, size, digits, &of_day, &fraction)) {
        return 0;
    }
    int64_t seconds = (int64_t)days * DAY + of_day - offset;
    return !__builtin_mul_overflow(seconds, units_of(digits), found) &&
           !__builtin_add_overflow(*found, fraction, found);
}
