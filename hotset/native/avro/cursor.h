/* The bytes of one record, taken one after another and never past their end.
 *
 * Each function returns 1, or 0 after it has noted why the record is no row. This file must not
 * know builders.
 */
#ifndef KAFKAICEBERG_AVRO_CURSOR_H
#define KAFKAICEBERG_AVRO_CURSOR_H

#include <string.h>

#include "interpreter.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Avro's numbers are copied as they are, which is right on little-endian machines only"
#endif

static inline int avro_fail(avro_run *run, int64_t code, int32_t place, int64_t detail) {
    run->code = code;
    run->place = place;
    run->detail = detail;
    return 0;
}

static inline int64_t avro_left(const avro_run *run) { return run->end - run->at; }

static inline int64_t avro_unzigzag(uint64_t found) { return (int64_t)((found >> 1) ^ (~(found & 1) + 1)); }

/* Byte by byte: for what is near the end of all data, too long, or cut short. */
int avro_slow_varint(avro_run *run, int32_t place, int64_t *value);

/* Up to eight bytes at once: seven bits of each are pushed together in three steps. */
static inline int avro_long_varint(avro_run *run, int32_t place, int64_t *value) {
    uint64_t found;
    if (run->limit - run->at < (int64_t)sizeof(found)) {
        return avro_slow_varint(run, place, value);
    }
    memcpy(&found, run->at, sizeof(found));
    uint64_t ends = ~found & 0x8080808080808080u;
    if (ends == 0) {
        return avro_slow_varint(run, place, value);
    }
    int64_t size = (__builtin_ctzll(ends) >> 3) + 1;
    if (size > avro_left(run)) {
        return avro_slow_varint(run, place, value);
    }
    found &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7fu;
    found = (found & 0x007f007f007f007fu) | (found & 0x7f007f007f007f00u) >> 1;
    found = (found & 0x00003fff00003fffu) | (found & 0x3fff00003fff0000u) >> 2;
    found = (found & 0x000000000fffffffu) | (found & 0x0fffffff00000000u) >> 4;
    run->at += size;
    *value = avro_unzigzag(found);
    return 1;
}

static inline int avro_varint(avro_run *run, int32_t place, int64_t *value) {
    if (run->at < run->end && *run->at < 0x80) {
        *value = avro_unzigzag(*run->at++);
        return 1;
    }
    return avro_long_varint(run, place, value);
}

static inline int avro_take(avro_run *run, int32_t place, int64_t size, const uint8_t **found) {
    if (size > avro_left(run)) {
        return avro_fail(run, CODE_TRUNCATED, place, 0);
    }
    *found = run->at;
    run->at += size;
    return 1;
}

static inline int avro_take_counted(avro_run *run, int32_t place, const uint8_t **found, int64_t *size) {
    if (!avro_varint(run, place, size)) {
        return 0;
    }
    if (*size < 0) {
        return avro_fail(run, CODE_LENGTH, place, *size);
    }
    return avro_take(run, place, *size, found);
}

#endif
