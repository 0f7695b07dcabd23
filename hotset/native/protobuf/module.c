/* What Python sees: one function that runs a program over an array of records.
 *
 * What it builds is handed over uncopied. This file must not know what a program does.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "../arrow/memory.h"
#include "../arrow/views.h"

enum { BUILDERS, MESSAGES, FIELDS, NAMES, ABSENTS, SLOTS, COLUMNS, HEADER };

typedef struct {
    machine on;
    arrow_shape *shapes;
    int32_t *places; /* 0, 1, 2, ...: what children of shapes point into */
    int32_t builder_count, column_count;
} loaded;

typedef struct {
    int64_t *rows; /* room for all of them */
    int64_t count;
} refusals;

static void unload(loaded *program)
{
    arrow_free(program->on.builders, program->builder_count);
    free(program->on.slots);
    free(program->on.entries);
    free(program->shapes);
    free(program->places);
}

/* Make the builders that a program fills; -1 if there are none such. */
static int make_builders(loaded *program, const builder_plan *plans, int64_t count)
{
    program->shapes = calloc((size_t)count + 1, sizeof *program->shapes);
    program->places = calloc((size_t)count + 1, sizeof *program->places);
    if (program->shapes == NULL || program->places == NULL) {
        return -1;
    }
    for (int64_t at = 0; at < count; at++) {
        const builder_plan *plan = plans + at;
        if (plan->first_child < 0 || plan->child_count < 0 || plan->first_child > count - plan->child_count) {
            return -1;
        }
        program->places[at] = (int32_t)at;
        program->shapes[at] = (arrow_shape){
            .kind = (int32_t)plan->kind,
            .is_nullable = 1,
            .width = plan->width,
            .children = program->places + plan->first_child,
            .child_count = (int32_t)plan->child_count,
        };
    }
    program->builder_count = (int32_t)count;
    program->on.builders = arrow_make(program->shapes, program->builder_count);
    return program->on.builders == NULL ? -1 : 0;
}

/* Lay the parts of a program over its numbers; -1 if there are not as many as it says. */
static int load(const Py_buffer *program, const Py_buffer *blob, loaded *into)
{
    static const size_t widths[] = {
        [BUILDERS] = sizeof(builder_plan), [MESSAGES] = sizeof(message_plan), [FIELDS] = sizeof(field_plan),
        [NAMES] = sizeof(name_plan),       [ABSENTS] = sizeof(int64_t),
    };
    const char *parts[ABSENTS + 1];
    const size_t size = (size_t)program->len;
    const int64_t *header = program->buf;
    size_t at = HEADER * sizeof(int64_t);
    if (size < at) {
        return -1;
    }
    for (int part = BUILDERS; part <= ABSENTS; part++) {
        parts[part] = (const char *)program->buf + at;
        if (header[part] < 0 || (size_t)header[part] > (size - at) / widths[part]) {
            return -1;
        }
        at += (size_t)header[part] * widths[part];
    }
    if (at != size || header[MESSAGES] == 0 || header[SLOTS] < 0 || header[BUILDERS] > INT32_MAX / 2 ||
        header[COLUMNS] < 0 || header[COLUMNS] > header[BUILDERS]) {
        return -1;
    }
    into->column_count = (int32_t)header[COLUMNS];
    into->on = (machine){
        .messages = (const message_plan *)(const void *)parts[MESSAGES],
        .fields = (const field_plan *)(const void *)parts[FIELDS],
        .names = (const name_plan *)(const void *)parts[NAMES],
        .absents = (const int64_t *)(const void *)parts[ABSENTS],
        .blob = blob->buf,
        .slots = calloc((size_t)header[SLOTS] + 1, sizeof(slot)),
    };
    if (into->on.slots == NULL) {
        return -1;
    }
    return make_builders(into, (const builder_plan *)(const void *)parts[BUILDERS], header[BUILDERS]);
}

/* A row of nulls in place of what a record may have left in the columns. */
static int null_row(const loaded *program, int64_t row)
{
    int done = DONE;
    for (int32_t at = 0; at < program->column_count && done == DONE; at++) {
        arrow_roll_back(program->on.builders, at, row);
        done = arrow_append_null(program->on.builders, at);
    }
    return done;
}

/* Run over all records. Needs no lock of Python's. */
static int run(loaded *program, const arrow_payloads *payloads, int64_t skip, refusals *refused)
{
    machine *on = &program->on;
    for (int64_t row = 0; row < payloads->count; row++) {
        const uint8_t *at, *end;
        if (!arrow_find(payloads, row, &at, &end)) {
            return REFUSED;
        }
        int done = REFUSED;
        if (arrow_is_null(payloads, row)) {
            done = null_row(program, row);
        } else {
            if (end - at >= skip) {
                done = run_message(on, on->messages, at + skip, (size_t)(end - at - skip), 0);
            }
            if (done == REFUSED || done == ARROW_TOO_MUCH) {
                refused->rows[refused->count++] = row;
                done = null_row(program, row);
            }
        }
        if (done != DONE) {
            return done;
        }
    }
    return DONE;
}

static PyObject *answer(const loaded *program, const refusals *refused)
{
    PyObject *builders = arrow_hand_over(program->on.builders, program->builder_count);
    if (builders == NULL) {
        return NULL;
    }
    const Py_ssize_t size = (Py_ssize_t)(refused->count * (int64_t)sizeof *refused->rows);
    return Py_BuildValue("(Ny#)", builders, (const char *)refused->rows, size);
}

static PyObject *decode_payloads(loaded *program, const arrow_payloads *payloads, int64_t skip)
{
    refusals refused = {.rows = malloc(((size_t)payloads->count + 1) * sizeof *refused.rows)};
    int done = NO_MEMORY;
    if (refused.rows != NULL) {
        Py_BEGIN_ALLOW_THREADS
        done = run(program, payloads, skip, &refused);
        Py_END_ALLOW_THREADS
    }
    PyObject *found = NULL;
    if (done == DONE) {
        found = answer(program, &refused);
    } else if (done == NO_MEMORY) {
        PyErr_NoMemory();
    } else {
        PyErr_SetString(PyExc_ValueError, "the offsets are not those of the data");
    }
    free(refused.rows);
    return found;
}

static PyObject *decode(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer numbers, blob, views[3];
    long long first, count, skip;
    if (!PyArg_ParseTuple(
            args, "y*y*Ly*z*z*LL:decode", &numbers, &blob, &skip, &views[0], &views[1], &views[2], &first,
            &count)) {
        return NULL;
    }
    PyObject *found = NULL;
    loaded program = {0};
    arrow_payloads payloads;
    if (skip < 0 || load(&numbers, &blob, &program) != 0) {
        PyErr_SetString(PyExc_ValueError, "the program is not one");
    } else if (arrow_payloads_of(views, first, count, &payloads)) {
        found = decode_payloads(&program, &payloads, skip);
    }
    unload(&program);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&blob);
    for (int at = 0; at < 3; at++) {
        PyBuffer_Release(&views[at]);
    }
    return found;
}

static PyMethodDef functions[] = {
    {"decode", decode, METH_VARARGS, "Return what each builder holds, and the rows that were refused."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hotset.decode.protobuf._wire",
    .m_doc = "Runs compiled message types over arrays of records.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__wire(void)
{
    return arrow_prepare() < 0 ? NULL : PyModule_Create(&definition);
}
