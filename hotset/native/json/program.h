/* What the columns wanted compile to: a tree of nodes, one for each builder, node 0 for the record.
 *
 * Children of a node stand side by side behind it. The same numbers stand in hotset/decode/json_native.py.
 * A program is checked once, when it is made. This file must not know Python.
 */
#ifndef KAFKAICEBERG_JSON_PROGRAM_H
#define KAFKAICEBERG_JSON_PROGRAM_H

#include "../arrow/builders.h"

enum json_form {
    FORM_STRUCT = 0, /* a: whether it is a row, which shares a field with the table at least */
    FORM_LIST,
    FORM_MAP,
    FORM_ENTRY, /* of a map: a key and a value */
    FORM_BOOLEAN,
    FORM_INTEGER,
    FORM_FLOATING,
    FORM_DECIMAL,   /* a: precision; b: scale */
    FORM_STRING,
    FORM_DATE,
    FORM_TIME,
    FORM_TIMESTAMP, /* a: 1 if text has an offset from UTC, and 2 times a json_unit; b: digits of a second, 6 or 9 */
    FORM_BINARY,
    FORM_UUID,
    FORM_COUNT,
};

/* What a number in a column of timestamps counts since 1970. */
enum json_unit { UNIT_NONE = 0, UNIT_SECONDS, UNIT_MILLIS, UNIT_MICROS, UNIT_COUNT };

/* How deep nodes may be, and how long fixed values; what is more is for other decoders. */
enum { JSON_DEEPEST = 60, JSON_LARGEST_FIXED = 256 };

typedef struct {
    const uint8_t *bytes;
    int32_t size;
    uint64_t first, last; /* up to eight bytes at either end */
} json_name;

typedef struct {
    int32_t form;
    int32_t first, count; /* children */
    int64_t a, b;
    json_name name;
    int32_t *slots; /* children by the hash of their name, one more than their place; 0 for none */
    uint32_t mask;
} json_node;

typedef struct {
    json_node *nodes;
    arrow_shape *shapes; /* one for each node */
    int32_t *places;     /* 0, 1, 2, ...: what children of shapes point into */
    int32_t *slots;      /* all tables of names, one after another */
    uint8_t *names;
    int32_t count;
} json_program;

/* Returns NULL if the program can be run on any bytes, or what is wrong with it. */
const char *json_check_program(const json_program *program);

#endif
