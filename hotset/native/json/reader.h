/* Reads records into builders. See reader.c. */
#ifndef KAFKAICEBERG_JSON_READER_H
#define KAFKAICEBERG_JSON_READER_H

#include "../arrow/payloads.h"
#include "names.h"

typedef struct {
    arrow_builder *builders; /* one for each node, of no length yet */
    int64_t *refused;        /* rows; room for all of them */
    int64_t refused_count;
    json_unknowns unknowns; /* of rows that were taken; names lie in the payloads, escapes and all */
} json_outcome;

enum { JSON_READ = 0, JSON_NO_MEMORY, JSON_NO_RECORDS };

/* Reads all records. A row that was not taken is null in every column, and is named. */
int json_read_records(const json_program *program, const arrow_payloads *payloads, json_outcome *outcome);

#endif
