/* Proves of a program, before it runs, that no node of it can write where it must not.
 *
 * Programs come from our own compiler, so a refusal here is a defect of ours and not of a record. This
 * file must not know records.
 */
#include "program.h"

#include "../arrow/uuids.h"

/* A map's key and value, or a list's one item, or nothing but fields. */
static int has_parts(const json_program *program, const json_node *node) {
    if (node->form == FORM_LIST) {
        return node->count == 1 && program->nodes[node->first].form != FORM_ENTRY;
    }
    if (node->form == FORM_MAP) {
        return node->count == 1 && program->nodes[node->first].form == FORM_ENTRY;
    }
    if (node->form == FORM_ENTRY && (node->count != 2 || program->nodes[node->first].form != FORM_STRING)) {
        return 0;
    }
    for (int32_t i = 0; i < node->count; i++) {
        if (program->nodes[node->first + i].form == FORM_ENTRY) {
            return 0;
        }
    }
    return 1;
}

static int fits(const json_program *program, const json_node *node, const arrow_shape *shape) {
    switch (node->form) {
    case FORM_STRUCT:
    case FORM_ENTRY:
        return shape->kind == ARROW_STRUCT && has_parts(program, node);
    case FORM_LIST:
    case FORM_MAP:
        return shape->kind == ARROW_LIST && has_parts(program, node);
    case FORM_BOOLEAN:
        return shape->kind == ARROW_BIT;
    case FORM_INTEGER:
    case FORM_FLOATING:
        return arrow_has_width(shape, 4, 8);
    case FORM_DECIMAL:
        return arrow_has_width(shape, 16, 16) && node->a >= 1 && node->a <= 38 && node->b >= 0 && node->b <= 38;
    case FORM_STRING:
        return shape->kind == ARROW_BYTES;
    case FORM_DATE:
        return arrow_has_width(shape, 4, 4);
    case FORM_TIME:
        return arrow_has_width(shape, 8, 8);
    case FORM_TIMESTAMP:
        return arrow_has_width(shape, 8, 8) && node->a >= 0 && node->a < 2 * UNIT_COUNT &&
               (node->b == 6 || node->b == 9);
    case FORM_BINARY:
        return shape->kind == ARROW_BYTES || (shape->kind == ARROW_FIXED && shape->width <= JSON_LARGEST_FIXED);
    case FORM_UUID:
        return arrow_has_width(shape, ARROW_UUID_BYTES, ARROW_UUID_BYTES);
    default:
        return 0;
    }
}

static int is_node(const json_program *program, int32_t place) {
    const json_node *node = &program->nodes[place];
    const arrow_shape *shape = &program->shapes[place];
    int has_children = node->form <= FORM_ENTRY;
    if (node->count < 0 || (node->count > 0 && !has_children) || shape->width < 0 || shape->width > INT32_MAX ||
        (node->count > 0 && node->first <= place) || node->count > program->count - node->first) {
        return 0;
    }
    return fits(program, node, shape);
}

static int is_flat_enough(const json_program *program, int32_t place, int depth) {
    const json_node *node = &program->nodes[place];
    if (depth > JSON_DEEPEST) {
        return 0;
    }
    for (int32_t i = 0; i < node->count; i++) {
        if (!is_flat_enough(program, node->first + i, depth + 1)) {
            return 0;
        }
    }
    return 1;
}

/* A node that is the child of two would be filled twice. */
static int is_tree(const json_program *program) {
    int32_t next = 1;
    for (int32_t i = 0; i < program->count; i++) {
        if (program->nodes[i].count > 0 && program->nodes[i].first != next) {
            return 0;
        }
        next += program->nodes[i].count;
    }
    return next == program->count;
}

const char *json_check_program(const json_program *program) {
    if (program->count < 1 || program->nodes[0].form != FORM_STRUCT) {
        return "the program has no record";
    }
    for (int32_t i = 0; i < program->count; i++) {
        if (!is_node(program, i)) {
            return "a node cannot be read";
        }
    }
    if (!is_tree(program)) {
        return "the nodes are no tree";
    }
    return is_flat_enough(program, 0, 0) ? NULL : "the nodes are too deep";
}
