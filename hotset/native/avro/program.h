/* What a compiled Avro schema is to the interpreter: steps, shapes of builders, constants.
 *
 * The same numbers stand in hotset/decode/avro/program.py, which says what each means. A program
 * is checked once, when it is made, so that running it needs no check but those of the records.
 * This file must not know Python.
 */
#ifndef KAFKAICEBERG_AVRO_PROGRAM_H
#define KAFKAICEBERG_AVRO_PROGRAM_H

#include "../arrow/builders.h"

enum {
    AVRO_MAX_NESTING = 200,
    AVRO_MAX_EMPTY_ITEMS = 1 << 16,
    AVRO_MAX_DECIMAL_BYTES = 64,
};

enum avro_op {
    OP_NOTHING = 0,
    OP_SKIP_VARINT,
    OP_SKIP_FIXED,
    OP_SKIP_BYTES,
    OP_SKIP_BLOCKS,
    OP_SEQUENCE,
    OP_UNION,
    OP_CALL,
    OP_NULL,
    OP_BOOLEAN,
    OP_INTEGER,
    OP_NUMBER,
    OP_FLOAT,
    OP_DOUBLE,
    OP_TEXT,
    OP_BYTES,
    OP_FIXED,
    OP_DECIMAL,
    OP_ENUM,
    OP_UUID_TEXT,
    OP_UUID_BYTES,
    OP_STRUCT,
    OP_LIST,
    OP_MAP,
    OP_CONSTANT,
    OP_COUNT,
};

enum avro_code {
    CODE_NONE = ARROW_DONE,
    CODE_TRUNCATED,
    CODE_TRAILING,
    CODE_VARINT,
    CODE_LENGTH,
    CODE_BRANCH,
    CODE_SYMBOL,
    CODE_UTF8,
    CODE_RANGE,
    CODE_ROUNDED,
    CODE_REQUIRED,
    CODE_BOOLEAN,
    CODE_SIZE,
    CODE_UUID,
    CODE_BLOCK,
    CODE_COUNT,
    CODE_EMPTY_ITEMS,
    CODE_NESTING,
    CODE_KEY_TWICE,
    CODE_TOO_MUCH = ARROW_TOO_MUCH,
    CODE_NO_MEMORY = ARROW_NO_MEMORY, /* ends the run; not a record's fault */
};

typedef struct {
    int32_t op;
    int32_t builder;
    int64_t a, b, c, d;
    const int32_t *children;
    int32_t child_count;
} avro_step;

typedef struct {
    const uint8_t *data;
    int64_t size;
} avro_constant;

typedef struct {
    avro_step *steps;
    arrow_shape *shapes;
    avro_constant *constants;
    int32_t *columns;
    int32_t *lists; /* all lists of children, one after another */
    uint8_t *bytes; /* all constants, one after another */
    int32_t step_count, shape_count, constant_count, column_count;
} avro_program;

/* Returns NULL if the program can be run on any bytes, or what is wrong with it. */
const char *avro_check_program(const avro_program *program);

#endif
