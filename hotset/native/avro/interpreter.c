/* Runs a program over records: takes their bytes, fills builders, flags what is no row.
 *
 * A record that is no row is taken back from all builders and is null in every column. Nothing here
 * trusts a record: each length is held against the bytes that are left, nesting and items without
 * bytes are counted. The program is trusted, since check.c has looked at it. Must not know Python.
 */
#include "interpreter.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../arrow/keys.h"
#include "../arrow/utf8.h"
#include "../arrow/uuids.h"
#include "cursor.h"
#include "values.h"

#define SMALL 16
/* Kept out of the function that runs steps, which then has fewer registers to save. */
#define RARE static __attribute__((noinline))

static int run_step(avro_run *run, int32_t place);

static int run_inside(avro_run *run, int32_t place, const avro_step *step) {
    if (run->depth == AVRO_MAX_NESTING) {
        return avro_fail(run, CODE_NESTING, place, 0);
    }
    run->depth++;
    for (int32_t i = 0; i < step->child_count; i++) {
        if (!run_step(run, step->children[i])) {
            return 0;
        }
    }
    run->depth--;
    return 1;
}

static int check_count(avro_run *run, int32_t place, int64_t count, int64_t least) {
    if (least > 0) {
        return count <= avro_left(run) / least || avro_fail(run, CODE_COUNT, place, count);
    }
    if (count > AVRO_MAX_EMPTY_ITEMS - run->empty_items) {
        return avro_fail(run, CODE_EMPTY_ITEMS, place, 0);
    }
    run->empty_items += count;
    return 1;
}

/* The count of a block's items, 0 if there are no more, and where the block ends if it says so. */
static int block_header(avro_run *run, int32_t place, int64_t *count, const uint8_t **end) {
    *end = NULL;
    if (!avro_varint(run, place, count)) {
        return 0;
    }
    if (*count >= 0) {
        return 1;
    }
    int64_t size;
    if (!avro_varint(run, place, &size)) {
        return 0;
    }
    if (size < 0 || size > avro_left(run)) {
        return avro_fail(run, CODE_BLOCK, place, 0);
    }
    *end = run->at + size;
    /* The least number has no positive one, and no record has so many items. */
    *count = *count == INT64_MIN ? INT64_MAX : -*count;
    return 1;
}

/* All blocks of an array or a map; an item of `entry`, if there is one, is complete after its parts. */
static int run_blocks(avro_run *run, int32_t place, const avro_step *step, arrow_builder *entry) {
    for (;;) {
        int64_t count;
        const uint8_t *end;
        if (!block_header(run, place, &count, &end)) {
            return 0;
        }
        if (count == 0) {
            return 1;
        }
        if (!check_count(run, place, count, step->a)) {
            return 0;
        }
        for (; count > 0; count--) {
            if (!run_inside(run, place, step)) {
                return 0;
            }
            if (entry != NULL) {
                entry->length++;
            }
        }
        if (end != NULL && end != run->at) {
            return avro_fail(run, CODE_BLOCK, place, 0);
        }
    }
}

/* Room for one value more, and where it goes; NULL if there is none. */
static inline uint8_t *slot(avro_run *run, int32_t place, arrow_builder *builder) {
    int code = arrow_make_room(builder);
    if (code != CODE_NONE) {
        avro_fail(run, code, place, 0);
        return NULL;
    }
    return builder->values + builder->length++ * builder->shape->width;
}

static inline int put_bytes(avro_run *run, int32_t place, arrow_builder *builder, const uint8_t *data,
                            int64_t size) {
    int code = arrow_make_room(builder);
    if (code == CODE_NONE) {
        /* With room to spare a short value is copied as one long one, which is faster. */
        code = arrow_make_data_room(builder, size <= SMALL ? SMALL : size);
    }
    if (code != CODE_NONE) {
        return avro_fail(run, code, place, 0);
    }
    uint8_t *target = builder->data + builder->data_length;
    if (size <= SMALL && run->limit - data >= SMALL) {
        memcpy(target, data, SMALL);
    } else if (size > 0) {
        memcpy(target, data, (size_t)size);
    }
    arrow_end_bytes(builder, size);
    return 1;
}

RARE int put_raw(avro_run *run, int32_t place, arrow_builder *builder, const uint8_t *data, int64_t size) {
    if (builder->shape->kind == ARROW_BYTES) {
        return put_bytes(run, place, builder, data, size);
    }
    if (size != builder->shape->width) {
        return avro_fail(run, CODE_SIZE, place, size);
    }
    uint8_t *target = slot(run, place, builder);
    if (target == NULL) {
        return 0;
    }
    memcpy(target, data, (size_t)size);
    return 1;
}

static inline int put_number(avro_run *run, int32_t place, arrow_builder *builder, int64_t value) {
    uint8_t *target = slot(run, place, builder);
    if (target == NULL) {
        return 0;
    }
    if (builder->shape->width == 8) {
        memcpy(target, &value, 8);
    } else {
        int32_t narrow = (int32_t)value;
        memcpy(target, &narrow, 4);
    }
    return 1;
}

static int put_double(avro_run *run, int32_t place, arrow_builder *builder, double value) {
    uint8_t *target = slot(run, place, builder);
    if (target == NULL) {
        return 0;
    }
    if (builder->shape->width == 8) {
        memcpy(target, &value, 8);
        return 1;
    }
    if (isfinite(value) && fabs(value) > (double)FLT_MAX) {
        return avro_fail(run, CODE_RANGE, place, 0);
    }
    float narrow = (float)value;
    if (isfinite(value) && (double)narrow != value) {
        return avro_fail(run, CODE_ROUNDED, place, 0);
    }
    memcpy(target, &narrow, 4);
    return 1;
}

RARE int read_null(avro_run *run, int32_t place, const avro_step *step) {
    if (!run->builders[step->builder].shape->is_nullable) {
        return avro_fail(run, CODE_REQUIRED, place, 0);
    }
    int code = arrow_append_null(run->builders, step->builder);
    return code == CODE_NONE || avro_fail(run, code, place, 0);
}

static int read_boolean(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    if (!avro_take(run, place, 1, &found)) {
        return 0;
    }
    if (*found > 1) {
        return avro_fail(run, CODE_BOOLEAN, place, *found);
    }
    int code = arrow_append_bit(builder, *found);
    return code == CODE_NONE || avro_fail(run, code, place, 0);
}

static int read_integer(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    int64_t value;
    if (!avro_varint(run, place, &value)) {
        return 0;
    }
    if (value < step->a || value > step->b) {
        return avro_fail(run, CODE_RANGE, place, 0);
    }
    if (step->d != 1) {
        if (value % step->d != 0) {
            return avro_fail(run, CODE_ROUNDED, place, 0);
        }
        value /= step->d;
    }
    return put_number(run, place, builder, value * step->c);
}

RARE int read_rounded(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    int64_t value;
    if (!avro_varint(run, place, &value)) {
        return 0;
    }
    if (value < step->a || value > step->b) {
        return avro_fail(run, CODE_RANGE, place, 0);
    }
    uint8_t *target = slot(run, place, builder);
    if (target == NULL) {
        return 0;
    }
    double wide = (double)value;
    float narrow = (float)value;
    memcpy(target, builder->shape->width == 8 ? (void *)&wide : (void *)&narrow, (size_t)builder->shape->width);
    return 1;
}

static int read_float(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    if (!avro_take(run, place, 4, &found)) {
        return 0;
    }
    if (builder->shape->width == 4) {
        return put_raw(run, place, builder, found, 4);
    }
    float value;
    memcpy(&value, found, 4);
    return put_double(run, place, builder, (double)value);
}

static int read_double(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    if (!avro_take(run, place, 8, &found)) {
        return 0;
    }
    double value;
    memcpy(&value, found, 8);
    return put_double(run, place, builder, value);
}

static int read_text(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    int64_t size;
    if (!avro_take_counted(run, place, &found, &size)) {
        return 0;
    }
    if (!arrow_is_utf8(found, size)) {
        return avro_fail(run, CODE_UTF8, place, 0);
    }
    return put_bytes(run, place, builder, found, size);
}

static int read_bytes(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    int64_t size;
    return avro_take_counted(run, place, &found, &size) && put_raw(run, place, builder, found, size);
}

RARE int read_decimal(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    const uint8_t *found;
    int64_t size = step->a;
    int is_there = size < 0 ? avro_take_counted(run, place, &found, &size) : avro_take(run, place, size, &found);
    if (!is_there) {
        return 0;
    }
    uint8_t value[16];
    int code = avro_scale_decimal(found, size, step->b, step->c, value);
    return code == CODE_NONE ? put_raw(run, place, builder, value, 16) : avro_fail(run, code, place, 0);
}

RARE int read_enum(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    int64_t symbol;
    if (!avro_varint(run, place, &symbol)) {
        return 0;
    }
    if (symbol < 0 || symbol >= step->b) {
        return avro_fail(run, CODE_SYMBOL, place, symbol);
    }
    const avro_constant *name = &run->program->constants[step->a + symbol];
    const uint8_t *limit = run->limit;
    run->limit = name->data + name->size;
    int is_put = put_bytes(run, place, builder, name->data, name->size);
    run->limit = limit;
    return is_put;
}

RARE int read_uuid_text(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    int64_t size;
    if (!avro_take_counted(run, place, &found, &size)) {
        return 0;
    }
    uint8_t value[ARROW_UUID_BYTES];
    if (!arrow_parse_uuid(found, size, value)) {
        return avro_fail(run, CODE_UUID, place, 0);
    }
    return put_raw(run, place, builder, value, ARROW_UUID_BYTES);
}

RARE int read_uuid_bytes(avro_run *run, int32_t place, arrow_builder *builder) {
    const uint8_t *found;
    uint8_t text[ARROW_UUID_TEXT];
    if (!avro_take(run, place, ARROW_UUID_BYTES, &found)) {
        return 0;
    }
    arrow_render_uuid(found, text);
    const uint8_t *limit = run->limit;
    run->limit = text + ARROW_UUID_TEXT;
    int is_put = put_bytes(run, place, builder, text, ARROW_UUID_TEXT);
    run->limit = limit;
    return is_put;
}

RARE int read_struct(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    if (!run_inside(run, place, step)) {
        return 0;
    }
    int code = arrow_make_room(builder);
    if (code != CODE_NONE) {
        return avro_fail(run, code, place, 0);
    }
    builder->length++;
    return 1;
}

RARE int read_list(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    int32_t items = builder->shape->children[0];
    int is_map = step->op == OP_MAP;
    int64_t first = run->builders[items].length;
    if (!run_blocks(run, place, step, is_map ? &run->builders[items] : NULL)) {
        return 0;
    }
    if (is_map) {
        /* Readers differ in which of two values they keep, so none is. */
        int found = arrow_has_twins(&run->builders[run->builders[items].shape->children[0]], first);
        if (found != 0) {
            return avro_fail(run, found > 0 ? CODE_KEY_TWICE : found, place, 0);
        }
    }
    int code = arrow_append_list(run->builders, builder);
    return code == CODE_NONE || avro_fail(run, code, place, 0);
}

RARE int read_constant(avro_run *run, const avro_step *step) {
    const avro_constant *constant = &run->program->constants[step->a];
    avro_run outer = *run;
    run->at = constant->data;
    run->limit = run->end = constant->data + constant->size;
    run->depth = 0;
    run->empty_items = 0;
    if (!run_step(run, step->children[0])) {
        return 0;
    }
    run->at = outer.at;
    run->end = outer.end;
    run->limit = outer.limit;
    run->depth = outer.depth;
    run->empty_items = outer.empty_items;
    return 1;
}

RARE int skip(avro_run *run, int32_t place, const avro_step *step) {
    const uint8_t *found;
    int64_t number;
    switch (step->op) {
    case OP_SKIP_VARINT:
        return avro_varint(run, place, &number);
    case OP_SKIP_FIXED:
        return avro_take(run, place, step->a, &found);
    case OP_SKIP_BYTES:
        return avro_take_counted(run, place, &found, &number);
    case OP_SKIP_BLOCKS:
        return run_blocks(run, place, step, NULL);
    case OP_SEQUENCE:
        return run_inside(run, place, step);
    default:
        return 1;
    }
}

RARE int read_fixed(avro_run *run, int32_t place, const avro_step *step, arrow_builder *builder) {
    const uint8_t *found;
    return avro_take(run, place, step->a, &found) && put_raw(run, place, builder, found, step->a);
}

/* The step that a union's or a call's record goes on with. */
static int follow(avro_run *run, int32_t *place) {
    const avro_step *step = &run->program->steps[*place];
    while (step->op == OP_UNION || step->op == OP_CALL) {
        int64_t branch;
        if (step->op == OP_CALL) {
            *place = (int32_t)step->a;
        } else if (!avro_varint(run, *place, &branch)) {
            return 0;
        } else if (branch < 0 || branch >= step->child_count) {
            return avro_fail(run, CODE_BRANCH, *place, branch);
        } else {
            *place = step->children[branch];
        }
        step = &run->program->steps[*place];
    }
    return 1;
}

static int run_step(avro_run *run, int32_t place) {
    if (!follow(run, &place)) {
        return 0;
    }
    const avro_step *step = &run->program->steps[place];
    if (step->op < OP_NULL) {
        return skip(run, place, step);
    }
    arrow_builder *builder = &run->builders[step->builder];
    switch (step->op) {
    case OP_NULL:
        return read_null(run, place, step);
    case OP_BOOLEAN:
        return read_boolean(run, place, builder);
    case OP_INTEGER:
        return read_integer(run, place, step, builder);
    case OP_NUMBER:
        return read_rounded(run, place, step, builder);
    case OP_FLOAT:
        return read_float(run, place, builder);
    case OP_DOUBLE:
        return read_double(run, place, builder);
    case OP_TEXT:
        return read_text(run, place, builder);
    case OP_BYTES:
        return read_bytes(run, place, builder);
    case OP_FIXED:
        return read_fixed(run, place, step, builder);
    case OP_DECIMAL:
        return read_decimal(run, place, step, builder);
    case OP_ENUM:
        return read_enum(run, place, step, builder);
    case OP_UUID_TEXT:
        return read_uuid_text(run, place, builder);
    case OP_UUID_BYTES:
        return read_uuid_bytes(run, place, builder);
    case OP_STRUCT:
        return read_struct(run, place, step, builder);
    case OP_CONSTANT:
        return read_constant(run, step);
    default:
        return read_list(run, place, step, builder);
    }
}

static int note_fault(avro_run *run, int64_t row) {
    if (run->fault_count == run->fault_capacity) {
        int64_t capacity = run->fault_capacity * 2 + 16;
        avro_fault *grown = realloc(run->faults, (size_t)capacity * sizeof(avro_fault));
        if (grown == NULL) {
            return CODE_NO_MEMORY;
        }
        run->faults = grown;
        run->fault_capacity = capacity;
    }
    avro_fault *fault = &run->faults[run->fault_count++];
    fault->row = row;
    fault->code = run->code;
    fault->place = run->place;
    fault->detail = run->detail;
    return CODE_NONE;
}

static int null_row(avro_run *run, int64_t row) {
    for (int32_t i = 0; i < run->program->column_count; i++) {
        int32_t column = run->program->columns[i];
        arrow_roll_back(run->builders, column, row);
        int code = arrow_append_null(run->builders, column);
        if (code != CODE_NONE) {
            return CODE_NO_MEMORY;
        }
    }
    return CODE_NONE;
}

static int read_row(avro_run *run) {
    run->depth = 0;
    run->empty_items = 0;
    if (!run_step(run, 0)) {
        return 0;
    }
    return run->at == run->end || avro_fail(run, CODE_TRAILING, 0, avro_left(run));
}

int avro_run_program(avro_run *run, const arrow_payloads *payloads) {
    for (int32_t i = 0; i < run->program->column_count; i++) {
        int code = arrow_grow(&run->builders[run->program->columns[i]], payloads->count + 1);
        if (code != CODE_NONE) {
            return CODE_NO_MEMORY;
        }
    }
    for (int64_t row = 0; row < payloads->count; row++) {
        if (!arrow_find(payloads, row, &run->at, &run->end)) {
            return CODE_LENGTH;
        }
        int code = CODE_NONE;
        run->limit = payloads->data + payloads->size;
        if (arrow_is_null(payloads, row)) {
            code = null_row(run, row);
        } else if (!read_row(run)) {
            code = run->code == CODE_NO_MEMORY ? CODE_NO_MEMORY : note_fault(run, row);
            code = code == CODE_NONE ? null_row(run, row) : code;
        }
        if (code != CODE_NONE) {
            return code;
        }
    }
    return CODE_NONE;
}
