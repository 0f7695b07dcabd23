/* UUIDs as text and as their 16 bytes. See uuids.h.
 *
 * This file must not know formats or builders.
 */
#include "uuids.h"

static int hex_digit(uint8_t digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int is_hyphen(int place) { return place == 8 || place == 13 || place == 18 || place == 23; }

int arrow_parse_uuid(const uint8_t *text, int64_t size, uint8_t *found) {
    if (size != ARROW_UUID_TEXT) {
        return 0;
    }
    int digits = 0;
    for (int i = 0; i < ARROW_UUID_TEXT; i++) {
        if (is_hyphen(i)) {
            if (text[i] != '-') {
                return 0;
            }
            continue;
        }
        int digit = hex_digit(text[i]);
        if (digit < 0) {
            return 0;
        }
        found[digits / 2] = (uint8_t)(digits % 2 ? found[digits / 2] | digit : digit << 4);
        digits++;
    }
    return 1;
}

void arrow_render_uuid(const uint8_t *bytes, uint8_t *text) {
    static const char digits[] = "0123456789abcdef";
    int digit = 0;
    for (int i = 0; i < ARROW_UUID_TEXT; i++) {
        if (is_hyphen(i)) {
            text[i] = '-';
            continue;
        }
        text[i] = (uint8_t)digits[digit % 2 ? bytes[digit / 2] & 15 : bytes[digit / 2] >> 4];
        digit++;
    }
}
