/* What a message type compiles to, and the state of running it over records.
 *
 * Every part of a program is a row of 64-bit numbers, as `hotset/decode/protobuf/program.py` writes them.
 * A message that is wanted is in the program once for each place it is wanted at; those that are only
 * checked are there once. This file must not know of Python.
 */
#ifndef HOTSET_PROTOBUF_PROGRAM_H
#define HOTSET_PROTOBUF_PROGRAM_H

#include "../arrow/builders.h"

/* What functions return that may fail; too much for a column, ARROW_TOO_MUCH, is a record refused, too. */
enum { DONE = ARROW_DONE, REFUSED = 1, NO_MEMORY = ARROW_NO_MEMORY };

/* Deeper records are left to the reference, which has a limit of its own. */
enum { DEEPEST = 60 };

/* Types as descriptors number them. */
enum {
    TYPE_DOUBLE = 1,
    TYPE_FLOAT,
    TYPE_INT64,
    TYPE_UINT64,
    TYPE_INT32,
    TYPE_FIXED64,
    TYPE_FIXED32,
    TYPE_BOOL,
    TYPE_STRING,
    TYPE_GROUP,
    TYPE_MESSAGE,
    TYPE_BYTES,
    TYPE_UINT32,
    TYPE_ENUM,
    TYPE_SFIXED32,
    TYPE_SFIXED64,
    TYPE_SINT32,
    TYPE_SINT64,
};

enum { SHAPE_SINGLE, SHAPE_LIST, SHAPE_MAP };

enum {
    FORM_KEPT, /* in its slot, for the message that it is part of */
    FORM_BOOLEAN,
    FORM_INTEGER,
    FORM_WHOLE_DECIMAL,
    FORM_MILLISECONDS,
    FORM_FLOATING,
    FORM_STRING,
    FORM_BINARY,
    FORM_FIXED,
    FORM_NAME,
    FORM_STRUCT,
    FORM_WRAPPER,
    FORM_TIMESTAMP,
    FORM_DATE,
    FORM_TIME_OF_DAY,
    FORM_DECIMAL,
    FORM_UUID_TEXT,
};

typedef struct {
    int64_t kind, width, first_child, child_count;
} builder_plan;

typedef struct {
    int64_t first_field, field_count; /* by number, ascending */
    int64_t first_slot, slot_count;
    int64_t first_absent, absent_count; /* builders that no field fills */
    int64_t required;                   /* a bit for each required field */
    int64_t takes_unknown;              /* whether a field that is not listed may be passed over */
} message_plan;

typedef struct {
    int64_t number, type, shape;
    int64_t oneof;        /* -1 if it is in none */
    int64_t required;     /* its bit */
    int64_t message;      /* the message it holds, or the entry of a map; -1 if none */
    int64_t slot;         /* -1 if it is not wanted */
    int64_t form;
    int64_t builder;      /* of a value */
    int64_t list;         /* of a list or map around values, or -1 */
    int64_t is_null;      /* what it is where it is absent: null, or else the default */
    int64_t must;         /* whether null is refused */
    int64_t number_default, default_at, default_size;
    int64_t first_name, name_count, is_closed; /* of an enum */
    int64_t precision, scale;                  /* of a decimal; of a timestamp, how many units are a second */
} field_plan;

typedef struct {
    int64_t number, at, size;
} name_plan;

/* What a single field holds so far. */
typedef struct {
    int64_t number;
    const uint8_t *bytes;
    size_t size;
    int is_there;
} slot;

/* An entry of a map that was read and is not yet in its column. */
typedef struct {
    const field_plan *field;
    int64_t key_type;
    slot key, value;
} entry;

typedef struct {
    const message_plan *messages;
    const field_plan *fields;
    const name_plan *names;
    const int64_t *absents;
    const uint8_t *blob;
    arrow_builder *builders;
    slot *slots;
    entry *entries;
    size_t entry_count, entry_capacity;
} machine;

/* Read a message that is wanted and add it to its builders; depth 0 for a record. */
int run_message(machine *on, const message_plan *message, const uint8_t *from, size_t size, int depth);

/* Read a message into its slots; values of lists go to their builders at once. */
int scan(machine *on, const message_plan *message, const uint8_t *from, size_t size, int depth);

/* Add what the slots of a message hold, and the entries from `base` on. */
int emit_parts(machine *on, const message_plan *message, size_t base, int depth);

int emit_value(machine *on, const field_plan *field, const slot *value, int depth);
const name_plan *name_of(const machine *on, const field_plan *field, int64_t number);
#endif
