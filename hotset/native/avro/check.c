/* Proves of a program, before it runs, that no step of it can write where it must not.
 *
 * Programs come from our own planner, so a refusal here is a defect of ours and not of a record.
 * Steps only have children that come later, so running ends; calls may go back, and are counted
 * while running. This file must not know records.
 */
#include "program.h"

static int are_later(const int32_t *children, int32_t count, int32_t place, int32_t end) {
    for (int32_t i = 0; i < count; i++) {
        if (children[i] <= place || children[i] >= end) {
            return 0;
        }
    }
    return 1;
}

static int is_shape(const avro_program *program, int32_t place) {
    const arrow_shape *shape = &program->shapes[place];
    if (shape->kind < 0 || shape->kind >= ARROW_KIND_COUNT || shape->width < 0 || shape->width > INT32_MAX) {
        return 0;
    }
    if (!are_later(shape->children, shape->child_count, place, program->shape_count)) {
        return 0;
    }
    if (shape->kind == ARROW_LIST) {
        return shape->child_count == 1;
    }
    return shape->kind == ARROW_STRUCT || shape->child_count == 0;
}

static int is_map(const avro_program *program, const arrow_shape *shape) {
    if (shape->kind != ARROW_LIST) {
        return 0;
    }
    const arrow_shape *entry = &program->shapes[shape->children[0]];
    if (entry->kind != ARROW_STRUCT || entry->child_count != 2) {
        return 0;
    }
    int32_t key = program->shapes[entry->children[0]].kind;
    return key == ARROW_BYTES || key == ARROW_FIXED;
}

static int is_within(int64_t first, int64_t count, int64_t end) {
    return first >= 0 && count >= 0 && first <= end && count <= end - first;
}

/* Whether a step that reads nothing into a builder is one. */
static int is_skip(const avro_program *program, const avro_step *step) {
    switch (step->op) {
    case OP_SKIP_FIXED:
        return step->a >= 0;
    case OP_SKIP_BLOCKS:
        return step->a >= 0;
    case OP_CALL:
        return step->a >= 0 && step->a < program->step_count && program->steps[step->a].op == OP_SEQUENCE;
    default:
        return step->op >= OP_NOTHING && step->op < OP_NULL;
    }
}

/* Whether a step fits the builder that it fills. */
static int is_read(const avro_program *program, const avro_step *step, const arrow_shape *shape) {
    switch (step->op) {
    case OP_NULL:
        return 1;
    case OP_BOOLEAN:
        return shape->kind == ARROW_BIT;
    case OP_INTEGER:
        return arrow_has_width(shape, 4, 8) && step->c > 0 && step->d > 0;
    case OP_NUMBER:
    case OP_FLOAT:
    case OP_DOUBLE:
        return arrow_has_width(shape, 4, 8);
    case OP_TEXT:
    case OP_UUID_BYTES:
        return shape->kind == ARROW_BYTES;
    case OP_BYTES:
        return shape->kind == ARROW_BYTES || shape->kind == ARROW_FIXED;
    case OP_FIXED:
        return step->a >= 0 && (shape->kind == ARROW_BYTES || arrow_has_width(shape, step->a, step->a));
    case OP_DECIMAL:
        return arrow_has_width(shape, 16, 16) && step->a >= -1 && step->c >= 1 && step->c <= 38;
    case OP_ENUM:
        return shape->kind == ARROW_BYTES && is_within(step->a, step->b, program->constant_count);
    case OP_UUID_TEXT:
        return arrow_has_width(shape, 16, 16);
    case OP_STRUCT:
        return shape->kind == ARROW_STRUCT;
    case OP_LIST:
        return shape->kind == ARROW_LIST && step->child_count == 1 && step->a >= 0;
    case OP_MAP:
        return is_map(program, shape) && step->child_count == 2 && step->a >= 0;
    case OP_CONSTANT:
        return step->child_count == 1 && is_within(step->a, 1, program->constant_count);
    default:
        return 0;
    }
}

static int is_step(const avro_program *program, int32_t place) {
    const avro_step *step = &program->steps[place];
    if (!are_later(step->children, step->child_count, place, program->step_count)) {
        return 0;
    }
    if (step->op < OP_NULL) {
        return is_skip(program, step);
    }
    if (step->builder < 0 || step->builder >= program->shape_count) {
        return 0;
    }
    return is_read(program, step, &program->shapes[step->builder]);
}

const char *avro_check_program(const avro_program *program) {
    if (program->step_count < 1) {
        return "the program has no steps";
    }
    for (int32_t i = 0; i < program->shape_count; i++) {
        if (!is_shape(program, i)) {
            return "a builder has no shape there is";
        }
    }
    for (int32_t i = 0; i < program->column_count; i++) {
        if (program->columns[i] < 0 || program->columns[i] >= program->shape_count) {
            return "a column has no builder";
        }
    }
    for (int32_t i = 0; i < program->step_count; i++) {
        if (!is_step(program, i)) {
            return "a step cannot be run";
        }
    }
    return NULL;
}
