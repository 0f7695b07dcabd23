/* Runs a program over records. See interpreter.c. */
#ifndef KAFKAICEBERG_AVRO_INTERPRETER_H
#define KAFKAICEBERG_AVRO_INTERPRETER_H

#include "../arrow/payloads.h"
#include "program.h"

typedef struct {
    int64_t row, code, place, detail;
} avro_fault;

typedef struct {
    const avro_program *program;
    arrow_builder *builders;
    avro_fault *faults;
    int64_t fault_count, fault_capacity;
    /* The record being read, and where the bytes around it end. */
    const uint8_t *at, *end, *limit;
    int32_t depth;
    int64_t empty_items;
    /* Why it is no row. */
    int64_t code, place, detail;
} avro_run;

/* Reads all records into builders of no length. Returns CODE_NONE, CODE_NO_MEMORY, or CODE_LENGTH if
 * the offsets are not those of the data. */
int avro_run_program(avro_run *run, const arrow_payloads *payloads);

#endif
