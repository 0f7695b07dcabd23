/* The bytes of one record, taken one after another and never past their end.
 *
 * Each function returns 1, or 0 after it has noted why the record is no row. This file must not
 * know builders.
 */
#ifndef KAFKAICEBERG_AVRO_CURSOR_H
#define KAFKAICEBERG_AVRO_CURSOR_H

#include "interpreter.h"

#define LONGEST_VARINT 10

static inline int avro_fail(avro_run *run, int64_t code, int32_t place, int64_t detail) {
    run->code = code;
    run->place = place;
    run->detail = detail;
    return 0;
}

static inline int64_t avro_left(const avro_run *run) { return run->end - run->at; }

static inline int64_t avro_unzigzag(uint64_t found) { return (int64_t)((found >> 1) ^ (~(found & 1) + 1)); }

static inline int avro_long_varint(avro_run *run, int32_t place, int64_t *value) {
    uint64_t found = 0;
    for (int i = 0; i < LONGEST_VARINT; i++) {
        if (run->at == run->end) {
            return avro_fail(run, CODE_TRUNCATED, place, 0);
        }
        uint8_t byte = *run->at++;
        if (i == LONGEST_VARINT - 1 && byte > 1) {
            break;
        }
        found |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            *value = avro_unzigzag(found);
            return 1;
        }
    }
    return avro_fail(run, CODE_VARINT, place, 0);
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
