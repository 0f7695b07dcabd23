/* Varints byte by byte. See cursor.h. */
#include "cursor.h"

#define LONGEST_VARINT 10

int avro_slow_varint(avro_run *run, int32_t place, int64_t *value) {
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
