/* Whether bytes are UTF-8, as strictly as the standard: no surrogates, nothing longer than need be.
 *
 * This file must not know where the bytes are from.
 */
#include "program.h"

#include <string.h>

/* How many bytes follow the first one; -1 if none can begin so. `low` and `high` bound the second. */
static int followers(uint8_t first, uint8_t *low, uint8_t *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (first < 0xc2 || first > 0xf4) {
        return -1;
    }
    if (first < 0xe0) {
        return 1;
    }
    if (first < 0xf0) {
        *low = first == 0xe0 ? 0xa0 : 0x80;
        *high = first == 0xed ? 0x9f : 0xbf;
        return 2;
    }
    *low = first == 0xf0 ? 0x90 : 0x80;
    *high = first == 0xf4 ? 0x8f : 0xbf;
    return 3;
}

int is_utf8(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint64_t eight;
        if (size - at >= sizeof eight) {
            memcpy(&eight, bytes + at, sizeof eight);
            if ((eight & 0x8080808080808080U) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        const uint8_t first = bytes[at++];
        if (first < 0x80) {
            continue;
        }
        uint8_t low, high;
        const int more = followers(first, &low, &high);
        if (more < 0 || size - at < (size_t)more) {
            return 0;
        }
        for (int each = 0; each < more; each++, at++) {
            if (bytes[at] < low || bytes[at] > high) {
                return 0;
            }
            low = 0x80;
            high = 0xbf;
        }
    }
    return 1;
}
