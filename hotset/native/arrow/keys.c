/* Whether a map holds a key twice. See keys.h.
 *
 * Few keys are compared with each other; many are sorted first, so that a map of a million keys takes
 * no longer than it should. This file must not know where the keys came from.
 */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#define FEW 12

typedef struct {
    const uint8_t *data;
    int64_t size;
} key;

static key key_at(const arrow_builder *keys, int64_t at) {
    if (keys->shape->kind == ARROW_FIXED) {
        return (key){keys->values + at * keys->shape->width, keys->shape->width};
    }
    const int32_t *offsets = arrow_offsets(keys);
    return (key){keys->data + offsets[at], offsets[at + 1] - offsets[at]};
}

static int compare(const void *one, const void *other) {
    const key *left = one, *right = other;
    if (left->size != right->size) {
        return left->size < right->size ? -1 : 1;
    }
    return left->size == 0 ? 0 : memcmp(left->data, right->data, (size_t)left->size);
}

static int few_have_twins(const arrow_builder *keys, int64_t first) {
    for (int64_t i = first + 1; i < keys->length; i++) {
        key left = key_at(keys, i);
        for (int64_t j = first; j < i; j++) {
            key right = key_at(keys, j);
            if (compare(&left, &right) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

int arrow_has_twins(const arrow_builder *keys, int64_t first) {
    int64_t count = keys->length - first;
    if (count <= FEW) {
        return few_have_twins(keys, first);
    }
    key *sorted = malloc((size_t)count * sizeof(key));
    if (sorted == NULL) {
        return ARROW_NO_MEMORY;
    }
    for (int64_t i = 0; i < count; i++) {
        sorted[i] = key_at(keys, first + i);
    }
    qsort(sorted, (size_t)count, sizeof(key), compare);
    int found = 0;
    for (int64_t i = 1; i < count && !found; i++) {
        found = compare(&sorted[i - 1], &sorted[i]) == 0;
    }
    free(sorted);
    return found;
}
