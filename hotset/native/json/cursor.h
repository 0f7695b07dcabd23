/* The text of one record, read from its beginning and never past its end.
 *
 * Functions return 1, or 0 for what is not plainly right; the exact decoder has to look at such a record.
 * This file must not know builders' values or Python.
 */
#ifndef KAFKAICEBERG_JSON_CURSOR_H
#define KAFKAICEBERG_JSON_CURSOR_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "names.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "text is looked at by eight bytes, whose order has to be known"
#endif

typedef struct {
    const json_program *program;
    arrow_builder *builders;
    int32_t *guesses; /* for each node its first child, and the child behind it, as they were last */
    const uint8_t *at, *end;
    const uint8_t *limit; /* where the bytes around the record end, which may be read too */
    int has_no_memory;
    json_unknowns *unknowns;
} json_run;

static inline void json_space(json_run *run) {
    while (run->at < run->end && *run->at <= ' ' &&
           (*run->at == ' ' || *run->at == '\n' || *run->at == '\r' || *run->at == '\t')) {
        run->at++;
    }
}

/* The next byte that is not space, left where it is; 0 at the end, which no text goes on with. */
static inline uint8_t json_next(json_run *run) {
    json_space(run);
    return run->at < run->end ? *run->at : 0;
}

static inline int json_take(json_run *run, uint8_t wanted) {
    if (json_next(run) != wanted) {
        return 0;
    }
    run->at++;
    return 1;
}

static inline int json_word(json_run *run, const char *word, size_t size) {
    if ((size_t)(run->end - run->at) < size || memcmp(run->at, word, size) != 0) {
        return 0;
    }
    run->at += size;
    return 1;
}

static inline int json_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static inline int json_ends_text(uint8_t byte) { return byte == '"' || byte == '\\' || byte < ' '; }

/* A bit for each byte that is a quote, a backslash or less than a space, exact up to the first of them. */
static inline uint64_t json_stops(uint64_t eight) {
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quotes = eight ^ ones * '"', slashes = eight ^ ones * '\\';
    uint64_t low = (eight - ones * ' ') & ~eight;
    return (((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes) | low) & highs;
}

/* Where text ends that begins here: at a quote, a backslash or what may not be in it; NULL if nowhere. */
static inline const uint8_t *json_plain_end(const json_run *run, const uint8_t *at) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), low = _mm_set1_epi8(' ' - 1);
    for (; at < run->end && run->limit - at >= 16; at += 16) {
        __m128i found = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(found, quote), _mm_cmpeq_epi8(found, slash));
        stops = _mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(found, low), found));
        unsigned bits = (unsigned)_mm_movemask_epi8(stops);
        if (bits != 0) {
            at += __builtin_ctz(bits);
            return at < run->end ? at : NULL;
        }
    }
#endif
    for (; at < run->end && run->limit - at >= 8; at += 8) {
        uint64_t bits = json_stops(json_eight(at));
        if (bits != 0) {
            at += __builtin_ctzll(bits) >> 3;
            return at < run->end ? at : NULL;
        }
    }
    for (; at < run->end; at++) {
        if (json_ends_text(*at)) {
            return at;
        }
    }
    return NULL;
}

/* The quote that ends a text, past all escapes in it, each of which is one; NULL if there is none. */
const uint8_t *json_text_end(const json_run *run, const uint8_t *at);

/* Read one value of any kind and forget it. */
int json_skip(json_run *run);

#endif
