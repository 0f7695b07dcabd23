/* What is inside of quotes: text with escapes, and base64. See text.h.
 *
 * This file must not know where text begins or goes.
 */
#include "text.h"

#include <string.h>

static uint32_t hex_digit(uint8_t digit) {
    return digit <= '9' ? (uint32_t)(digit - '0') : (uint32_t)((digit | 0x20) - 'a' + 10);
}

static uint32_t read_unit(const uint8_t *at) {
    return hex_digit(at[0]) << 12 | hex_digit(at[1]) << 8 | hex_digit(at[2]) << 4 | hex_digit(at[3]);
}

static uint8_t *write_character(uint8_t *into, uint32_t code) {
    if (code < 0x80) {
        *into++ = (uint8_t)code;
        return into;
    }
    if (code < 0x800) {
        *into++ = (uint8_t)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *into++ = (uint8_t)(0xe0 | code >> 12);
        } else {
            *into++ = (uint8_t)(0xf0 | code >> 18);
            *into++ = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        }
        *into++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    }
    *into++ = (uint8_t)(0x80 | (code & 0x3f));
    return into;
}

/* Moves behind an escape of a character; 0 if that is half of one. */
static int read_character(const uint8_t **at, const uint8_t *end, uint32_t *code) {
    *code = read_unit(*at + 2);
    *at += 6;
    if (*code < 0xd800 || *code > 0xdfff) {
        return 1;
    }
    if (*code > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') {
        return 0;
    }
    uint32_t low = read_unit(*at + 2);
    if (low < 0xdc00 || low > 0xdfff) {
        return 0;
    }
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    *at += 6;
    return 1;
}

static uint8_t short_escape(uint8_t letter) {
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

int64_t json_unescape(const uint8_t *from, const uint8_t *end, uint8_t *into) {
    uint8_t *start = into;
    while (from < end) {
        const uint8_t *escape = memchr(from, '\\', (size_t)(end - from));
        size_t plain = (size_t)((escape == NULL ? end : escape) - from);
        memcpy(into, from, plain);
        into += plain;
        from += plain;
        if (from == end) {
            break;
        }
        if (from[1] == 'u') {
            uint32_t code;
            if (!read_character(&from, end, &code)) {
                return -1;
            }
            into = write_character(into, code);
        } else {
            *into++ = short_escape(from[1]);
            from += 2;
        }
    }
    return into - start;
}

static uint32_t sextet(uint8_t letter) {
    if (letter >= 'A' && letter <= 'Z') {
        return letter - 'A';
    }
    if (letter >= 'a' && letter <= 'z') {
        return letter - 'a' + 26u;
    }
    if (letter >= '0' && letter <= '9') {
        return letter - '0' + 52u;
    }
    return letter == '+' ? 62 : letter == '/' ? 63 : 64;
}

int64_t json_decode_base64(const uint8_t *from, int64_t size, uint8_t *into) {
    if (size % 4 != 0) {
        return -1;
    }
    int64_t padding = size == 0 || from[size - 1] != '=' ? 0 : from[size - 2] == '=' ? 2 : 1;
    uint8_t *start = into;
    for (int64_t at = 0; at < size; at += 4) {
        int64_t missing = at + 4 == size ? padding : 0;
        uint32_t bits = 0;
        for (int64_t i = 0; i < 4; i++) {
            uint32_t found = i < 4 - missing ? sextet(from[at + i]) : 0;
            if (found > 63) {
                return -1;
            }
            bits = bits << 6 | found;
        }
        if ((missing == 1 && (bits & 0xff)) || (missing == 2 && (bits & 0xffff))) {
            return -1;
        }
        for (int64_t i = 0; i < 3 - missing; i++) {
            *into++ = (uint8_t)(bits >> (16 - 8 * i));
        }
    }
    return into - start;
}
