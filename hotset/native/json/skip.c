/* Values that nobody asked for: read as strictly as others, and forgotten.
 *
 * What is open is kept in the bits of one number, so nothing here calls itself. This file must not know
 * columns.
 */
#include "cursor.h"

enum { MOST_OPEN = 64 };

static int is_hex(uint8_t byte) {
    return json_is_digit(byte) || (uint8_t)((byte | 0x20) - 'a') < 6;
}

/* Where an escape ends, which begins with a backslash; NULL if it is none. */
static const uint8_t *escape_end(const json_run *run, const uint8_t *at) {
    if (run->end - at < 2) {
        return NULL;
    }
    switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 2;
    case 'u':
        return run->end - at >= 6 && is_hex(at[2]) && is_hex(at[3]) && is_hex(at[4]) && is_hex(at[5]) ? at + 6
                                                                                                        : NULL;
    default:
        return NULL;
    }
}

const uint8_t *json_text_end(const json_run *run, const uint8_t *at) {
    for (at = json_plain_end(run, at); at != NULL; at = json_plain_end(run, at)) {
        if (*at == '"') {
            return at;
        }
        at = *at == '\\' ? escape_end(run, at) : NULL;
        if (at == NULL) {
            return NULL;
        }
    }
    return NULL;
}

static int skip_text(json_run *run) {
    const uint8_t *end = json_text_end(run, run->at + 1);
    if (end == NULL) {
        return 0;
    }
    run->at = end + 1;
    return 1;
}

static int skip_digits(json_run *run) {
    const uint8_t *start = run->at;
    while (run->at < run->end && json_is_digit(*run->at)) {
        run->at++;
    }
    return run->at > start;
}

static int skip_number(json_run *run) {
    if (*run->at == '-') {
        run->at++;
        if (json_word(run, "Infinity", 8)) {
            return 1;
        }
    }
    const uint8_t *start = run->at;
    if (!skip_digits(run) || (*start == '0' && run->at - start > 1)) {
        return 0;
    }
    if (run->at < run->end && *run->at == '.') {
        run->at++;
        if (!skip_digits(run)) {
            return 0;
        }
    }
    if (run->at < run->end && (*run->at | 0x20) == 'e') {
        run->at++;
        if (run->at < run->end && (*run->at == '-' || *run->at == '+')) {
            run->at++;
        }
        return skip_digits(run);
    }
    return 1;
}

/* Anything that has nothing in it. */
static int skip_scalar(json_run *run, uint8_t first) {
    switch (first) {
    case '"':
        return skip_text(run);
    case 't':
        return json_word(run, "true", 4);
    case 'f':
        return json_word(run, "false", 5);
    case 'n':
        return json_word(run, "null", 4);
    case 'N':
        return json_word(run, "NaN", 3);
    case 'I':
        return json_word(run, "Infinity", 8);
    default:
        return (first == '-' || json_is_digit(first)) && skip_number(run);
    }
}

static int skip_key(json_run *run) {
    return json_next(run) == '"' && skip_text(run) && json_take(run, ':');
}

/* The beginnings of values, up to one that ends where it begins: a scalar, or something empty. */
static int skip_beginnings(json_run *run, uint64_t *objects, int *open) {
    for (;;) {
        uint8_t first = json_next(run);
        if (first != '{' && first != '[') {
            return skip_scalar(run, first);
        }
        run->at++;
        if (json_next(run) == (first == '{' ? '}' : ']')) {
            run->at++;
            return 1;
        }
        if (*open == MOST_OPEN) {
            return 0;
        }
        *objects = *objects << 1 | (first == '{');
        ++*open;
        if (first == '{' && !skip_key(run)) {
            return 0;
        }
    }
}

int json_skip(json_run *run) {
    uint64_t objects = 0;
    int open = 0;
    if (!skip_beginnings(run, &objects, &open)) {
        return 0;
    }
    while (open > 0) {
        int is_object = objects & 1;
        uint8_t next = json_next(run);
        if (next == (is_object ? '}' : ']')) {
            run->at++;
            objects >>= 1;
            open--;
        } else if (next != ',') {
            return 0;
        } else {
            run->at++;
            if ((is_object && !skip_key(run)) || !skip_beginnings(run, &objects, &open)) {
                return 0;
            }
        }
    }
    return 1;
}
