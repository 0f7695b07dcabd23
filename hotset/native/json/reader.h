/* Reads records into builders. See reader.c. */
#ifndef KAFKAICEBERG_JSON_READER_H
#define KAFKAICEBERG_JSON_READER_H

#include "program.h"

typedef struct {
    const int32_t *offsets; /* one more than there are records */
    const uint8_t *data;
    int64_t size;
    const uint8_t *validity; /* none if no record is null */
    int64_t first, count;
} json_payloads;

typedef struct {
    arrow_builder *builders; /* one for each node, of no length yet */
    int64_t *refused;        /* rows; room for all of them */
    int64_t refused_count;
} json_outcome;

enum { JSON_READ = 0, JSON_NO_MEMORY, JSON_NO_RECORDS };

/* Reads all records. A row that was not taken is null in every column, and is named. */
int json_read_records(const json_program *program, const json_payloads *payloads, json_outcome *outcome);

#endif
