/* The reader as a Python module: columns and records in, Arrow buffers out.
 *
 * `compile_program` makes a program of whole numbers and checks it; `read_records` reads with the GIL released and
 * hands over what it has built, uncopied, with the rows it has refused. Everything about Python is in this
 * file, and nothing about JSON.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "../arrow/memory.h"
#include "../arrow/views.h"
#include "names.h"
#include "numbers.h"
#include "reader.h"

enum { NODE_NUMBERS = 9, MOST_NODES = 1 << 20 };
static const char PROGRAM[] = "hotset.decode._json.program";

static void free_program(json_program *program) {
    if (program != NULL) {
        free(program->nodes);
        free(program->shapes);
        free(program->places);
        free(program->slots);
        free(program->names);
        free(program);
    }
}

static void free_capsule(PyObject *capsule) { free_program(PyCapsule_GetPointer(capsule, PROGRAM)); }

static json_program *empty_program(int64_t count, const Py_buffer *names) {
    json_program *program = calloc(1, sizeof(json_program));
    if (program == NULL) {
        return NULL;
    }
    program->count = (int32_t)count;
    program->nodes = calloc((size_t)count + 1, sizeof(json_node));
    program->shapes = calloc((size_t)count + 1, sizeof(arrow_shape));
    program->places = calloc((size_t)count + 1, sizeof(int32_t));
    program->names = malloc((size_t)names->len + 1);
    if (program->nodes == NULL || program->shapes == NULL || program->places == NULL || program->names == NULL) {
        free_program(program);
        return NULL;
    }
    if (names->len > 0) {
        memcpy(program->names, names->buf, (size_t)names->len);
    }
    return program;
}

static int is_small(int64_t number) { return number >= 0 && number <= INT32_MAX; }

/* 0 if a number is none that can be here, or there are not as many names as that. */
static int fill_nodes(json_program *program, const int64_t *numbers, int64_t size) {
    int64_t used = 0;
    for (int32_t i = 0; i < program->count; i++, numbers += NODE_NUMBERS) {
        if (numbers[0] < 0 || numbers[0] >= FORM_COUNT || numbers[1] < 0 || numbers[1] >= ARROW_KIND_COUNT ||
            !is_small(numbers[2]) || !is_small(numbers[6]) || !is_small(numbers[7]) || !is_small(numbers[8]) ||
            numbers[7] > program->count || numbers[6] > program->count - numbers[7] || numbers[8] > size - used) {
            return 0;
        }
        json_node *node = &program->nodes[i];
        *node = (json_node){.form = (int32_t)numbers[0], .a = numbers[4], .b = numbers[5]};
        node->first = (int32_t)numbers[6];
        node->count = (int32_t)numbers[7];
        node->name = json_name_of(program->names + used, (int32_t)numbers[8]);
        used += numbers[8];
        program->places[i] = i;
        program->shapes[i] = (arrow_shape){
            .kind = (int32_t)numbers[1],
            .is_nullable = numbers[3] != 0,
            .width = numbers[2],
            .children = program->places + node->first,
            .child_count = node->count,
        };
    }
    return 1;
}

/* Gives each node its table of names; 0 if there is not enough memory. */
static int fill_names(json_program *program) {
    int64_t wanted = 0;
    for (int32_t i = 0; i < program->count; i++) {
        wanted += json_slot_count(program->nodes[i].count);
    }
    program->slots = calloc((size_t)wanted, sizeof(int32_t));
    if (program->slots == NULL) {
        return 0;
    }
    int32_t *slots = program->slots;
    for (int32_t i = 0; i < program->count; i++) {
        int64_t count = json_slot_count(program->nodes[i].count);
        program->nodes[i].slots = slots;
        program->nodes[i].mask = (uint32_t)count - 1;
        slots += count;
        json_fill_slots(program, &program->nodes[i]);
    }
    return 1;
}

static PyObject *compiled(const Py_buffer *numbers, const Py_buffer *names) {
    int64_t count = numbers->len / (NODE_NUMBERS * (int64_t)sizeof(int64_t));
    if (count > MOST_NODES) {
        PyErr_SetString(PyExc_ValueError, "the program is too large");
        return NULL;
    }
    json_program *program = empty_program(count, names);
    if (program == NULL) {
        return PyErr_NoMemory();
    }
    const char *wrong = "a node is none";
    if (fill_nodes(program, numbers->buf, names->len)) {
        wrong = json_check_program(program);
    }
    PyObject *capsule = NULL;
    if (wrong != NULL) {
        PyErr_SetString(PyExc_ValueError, wrong);
    } else if (!fill_names(program)) {
        PyErr_NoMemory();
    } else {
        capsule = PyCapsule_New(program, PROGRAM, free_capsule);
    }
    if (capsule == NULL) {
        free_program(program);
    }
    return capsule;
}

static PyObject *compile_program(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer numbers, names;
    if (!PyArg_ParseTuple(args, "y*y*:compile_program", &numbers, &names)) {
        return NULL;
    }
    PyObject *capsule = compiled(&numbers, &names);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&names);
    return capsule;
}

static PyObject *names_of(const json_unknowns *unknowns) {
    PyObject *names = PyList_New(unknowns->count);
    for (int32_t i = 0; names != NULL && i < unknowns->count; i++) {
        const json_unknown *found = &unknowns->found[i];
        PyObject *pair = Py_BuildValue("(iy#)", found->place, (const char *)found->name.bytes,
                                       (Py_ssize_t)found->name.size);
        if (pair == NULL) {
            Py_CLEAR(names);
        } else {
            PyList_SET_ITEM(names, i, pair);
        }
    }
    return names;
}

static PyObject *told(const json_program *program, json_outcome *outcome) {
    PyObject *builders = arrow_hand_over(outcome->builders, program->count);
    PyObject *names = names_of(&outcome->unknowns);
    if (builders == NULL || names == NULL) {
        Py_XDECREF(builders);
        Py_XDECREF(names);
        return NULL;
    }
    Py_ssize_t size = (Py_ssize_t)(outcome->refused_count * (int64_t)sizeof(int64_t));
    return Py_BuildValue("(Ny#N)", builders, (const char *)outcome->refused, size, names);
}

static PyObject *read_payloads(const void *held, const arrow_payloads *payloads) {
    const json_program *program = held;
    json_outcome outcome = {
        .builders = arrow_make(program->shapes, program->count),
        .refused = malloc(((size_t)payloads->count + 1) * sizeof(int64_t)),
    };
    int code = JSON_NO_MEMORY;
    if (outcome.builders != NULL && outcome.refused != NULL) {
        Py_BEGIN_ALLOW_THREADS
        code = json_read_records(program, payloads, &outcome);
        Py_END_ALLOW_THREADS
    }
    PyObject *found = NULL;
    if (code == JSON_READ) {
        found = told(program, &outcome);
    } else if (code == JSON_NO_MEMORY) {
        PyErr_NoMemory();
    } else {
        PyErr_SetString(PyExc_ValueError, "the offsets are not those of the data");
    }
    arrow_free(outcome.builders, program->count);
    free(outcome.refused);
    return found;
}

static PyObject *read_records(PyObject *Py_UNUSED(module), PyObject *args) {
    return arrow_read(args, PROGRAM, read_payloads);
}

static PyMethodDef methods[] = {
    {"compile_program", compile_program, METH_VARARGS, "Make a program of packed numbers, or raise ValueError."},
    {"read_records", read_records, METH_VARARGS, "Read records: what each builder holds, packed rows that were refused, names of fields that fill none."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_json",
    .m_doc = "Reads JSON records into Arrow buffers, and says which it does not take.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__json(void) {
    if (arrow_prepare() < 0) {
        return NULL;
    }
    return json_prepare_numbers() ? PyModule_Create(&module) : PyErr_NoMemory();
}
