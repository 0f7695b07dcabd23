/* What Python sees: one function that runs a program over an array of records.
 *
 * The columns stay in memory of C for as long as Python holds the capsule that comes with their addresses.
 * This file must not know what a program does.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "program.h"

#include <stdlib.h>
#include <string.h>

static const char CAPSULE[] = "hotset.decode.protobuf.columns";

enum { BUILDERS, MESSAGES, FIELDS, NAMES, ABSENTS, SLOTS, COLUMNS, HEADER };

typedef struct {
    builder *builders;
    size_t count;
} columns;

typedef struct {
    machine on;
    size_t column_count;
} loaded;

/* Records as Arrow's `binary` keeps them. */
typedef struct {
    Py_buffer validity, ends, data;
    Py_ssize_t first, count, skip;
} records;

static void columns_free(columns *found)
{
    for (size_t at = 0; at < found->count; at++) {
        builder_free(found->builders + at);
    }
    free(found->builders);
    free(found);
}

static void free_capsule(PyObject *capsule)
{
    columns *found = PyCapsule_GetPointer(capsule, CAPSULE);
    if (found != NULL) {
        columns_free(found);
    }
}

static columns *make_columns(const builder_plan *plans, size_t count)
{
    columns *made = calloc(1, sizeof *made);
    builder *builders = calloc(count + 1, sizeof *builders);
    if (made == NULL || builders == NULL) {
        free(made);
        free(builders);
        return NULL;
    }
    for (size_t at = 0; at < count; at++) {
        builders[at].kind = plans[at].kind;
        builders[at].width = plans[at].width;
        builders[at].children = builders + plans[at].first_child;
        builders[at].child_count = plans[at].child_count;
    }
    *made = (columns){.builders = builders, .count = count};
    return made;
}

/* Lay the parts of a program over its numbers; -1 if there are not as many as it says. */
static int load(const Py_buffer *program, const Py_buffer *blob, loaded *into, const builder_plan **plans)
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
    if (at != size || header[MESSAGES] == 0 || header[SLOTS] < 0 || header[COLUMNS] > header[BUILDERS]) {
        return -1;
    }
    *plans = (const builder_plan *)(const void *)parts[BUILDERS];
    into->column_count = (size_t)header[COLUMNS];
    into->on = (machine){
        .messages = (const message_plan *)(const void *)parts[MESSAGES],
        .fields = (const field_plan *)(const void *)parts[FIELDS],
        .names = (const name_plan *)(const void *)parts[NAMES],
        .absents = (const int64_t *)(const void *)parts[ABSENTS],
        .blob = blob->buf,
        .builder_count = (size_t)header[BUILDERS],
        .slots = calloc((size_t)header[SLOTS] + 1, sizeof(slot)),
    };
    return into->on.slots == NULL ? -1 : 0;
}

static int null_row(const loaded *program)
{
    for (size_t at = 0; at < program->column_count; at++) {
        const int done = add_null(program->on.builders + at);
        if (done != DONE) {
            return done;
        }
    }
    return DONE;
}

static int is_null(const records *of, Py_ssize_t at)
{
    const uint8_t *bits = of->validity.buf;
    return of->validity.len > 0 && !(bits[at / 8] >> (at % 8) & 1);
}

/* Run over all records; the rows that were refused go to `refused`. Needs no lock of Python's. */
static int run(loaded *program, const records *of, int64_t *refused, size_t *refused_count)
{
    machine *on = &program->on;
    const int32_t *ends = of->ends.buf;
    const uint8_t *data = of->data.buf;
    for (Py_ssize_t row = 0; row < of->count; row++) {
        const Py_ssize_t at = of->first + row;
        int done = REFUSED;
        if (is_null(of, at)) {
            done = null_row(program);
        } else {
            const Py_ssize_t start = ends[at], end = ends[at + 1];
            if (start < 0 || end < start || end > of->data.len) {
                return REFUSED;
            }
            begin_row(on->builders, on->builder_count);
            if (end - start >= of->skip) {
                const size_t size = (size_t)(end - start - of->skip);
                done = run_message(on, on->messages, data + start + of->skip, size, 0);
            }
            if (done == REFUSED) {
                forget_row(on->builders, on->builder_count);
                refused[(*refused_count)++] = row;
                done = null_row(program);
            }
        }
        if (done != DONE) {
            return done;
        }
    }
    return DONE;
}

static PyObject *address(const growing *buffer)
{
    return Py_BuildValue("(Kn)", (unsigned long long)(uintptr_t)buffer->bytes, (Py_ssize_t)buffer->used);
}

static PyObject *describe(const columns *made)
{
    PyObject *all = PyList_New((Py_ssize_t)made->count);
    for (size_t at = 0; all != NULL && at < made->count; at++) {
        const builder *each = made->builders + at;
        PyObject *one = Py_BuildValue(
            "(nnNNN)", (Py_ssize_t)each->length, (Py_ssize_t)each->nulls, address(&each->validity),
            address(&each->ends), address(&each->data));
        if (one == NULL) {
            Py_CLEAR(all);
        } else {
            PyList_SET_ITEM(all, (Py_ssize_t)at, one);
        }
    }
    return all;
}

static PyObject *answer(columns *made, const int64_t *refused, size_t refused_count)
{
    PyObject *described = describe(made);
    PyObject *capsule = PyCapsule_New(made, CAPSULE, free_capsule);
    if (capsule == NULL) {
        columns_free(made);
        Py_XDECREF(described);
        return NULL;
    }
    if (described == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    const Py_ssize_t size = (Py_ssize_t)(refused_count * sizeof *refused);
    return Py_BuildValue("(NNy#)", capsule, described, (const char *)refused, size);
}

static PyObject *decode_records(loaded *program, const builder_plan *plans, const records *of)
{
    columns *made = make_columns(plans, program->on.builder_count);
    int64_t *refused = malloc(((size_t)of->count + 1) * sizeof *refused);
    size_t refused_count = 0;
    int done = NO_MEMORY;
    if (made != NULL && refused != NULL) {
        program->on.builders = made->builders;
        Py_BEGIN_ALLOW_THREADS
        done = run(program, of, refused, &refused_count);
        Py_END_ALLOW_THREADS
    }
    PyObject *found = NULL;
    if (done == DONE) {
        found = answer(made, refused, refused_count);
    } else {
        PyErr_SetString(
            done == NO_MEMORY ? PyExc_MemoryError : PyExc_ValueError, "the records cannot be decoded");
        if (made != NULL) {
            columns_free(made);
        }
    }
    free(refused);
    return found;
}

static PyObject *decode(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer program, blob;
    records of = {0};
    if (!PyArg_ParseTuple(
            args, "y*y*y*y*y*nnn", &program, &blob, &of.validity, &of.ends, &of.data, &of.first, &of.count,
            &of.skip)) {
        return NULL;
    }
    PyObject *found = NULL;
    const builder_plan *plans;
    loaded made = {0};
    const Py_ssize_t needed = of.first + of.count;
    if (of.first < 0 || of.count < 0 || of.skip < 0 || of.ends.len / (Py_ssize_t)sizeof(int32_t) <= needed ||
        (of.validity.len > 0 && of.validity.len < (needed + 7) / 8)) {
        PyErr_SetString(PyExc_ValueError, "there are fewer records than that");
    } else if (load(&program, &blob, &made, &plans) != 0) {
        PyErr_SetString(PyExc_ValueError, "the program is not one");
    } else {
        found = decode_records(&made, plans, &of);
    }
    free(made.on.slots);
    free(made.on.entries);
    PyBuffer_Release(&program);
    PyBuffer_Release(&blob);
    PyBuffer_Release(&of.validity);
    PyBuffer_Release(&of.ends);
    PyBuffer_Release(&of.data);
    return found;
}

static PyMethodDef functions[] = {
    {"decode", decode, METH_VARARGS, "Return a capsule, the builders' buffers, and the rows that were refused."},
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
    return PyModule_Create(&definition);
}
