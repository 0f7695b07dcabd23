/* Whether bytes are UTF-8. See utf8.h. */
#include "utf8.h"

#include <string.h>

/* How many bytes a character takes, or 0 if it is none; `left` is at least 1. */
static int64_t character(const uint8_t *at, int64_t left) {
    uint8_t first = at[0];
    if (first < 0x80) {
        return 1;
    }
    int64_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < size) {
        return 0;
    }
    /* Overlong forms, surrogates and what is above the last character show in the second byte. */
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (int64_t i = 2; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return size;
}

int arrow_is_utf8(const uint8_t *text, int64_t size) {
    int64_t at = 0;
    while (at < size) {
        uint64_t eight;
        if (size - at >= 8 && (memcpy(&eight, text + at, 8), (eight & 0x8080808080808080u) == 0)) {
            at += 8;
            continue;
        }
        int64_t step = character(text + at, size - at);
        if (step == 0) {
            return 0;
        }
        at += step;
    }
    return 1;
}
