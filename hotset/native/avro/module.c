/* The interpreter as a Python module: programs in, Arrow buffers out.
 *
 * `compile_program` makes a program of whole numbers and checks it; `run_program` reads records with the GIL released
 * and hands over what it has built as objects with the buffer protocol, uncopied. Everything about
 * Python is in this file, and nothing about Avro.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "../arrow/memory.h"
#include "../arrow/views.h"
#include "interpreter.h"

#define STEP_NUMBERS 7
#define SHAPE_NUMBERS 4
#define PROGRAM "hotset.decode.avro._interpreter.program"

static void free_program(avro_program *program) {
    if (program != NULL) {
        free(program->steps);
        free(program->shapes);
        free(program->constants);
        free(program->columns);
        free(program->lists);
        free(program->bytes);
        free(program);
    }
}

static void free_capsule(PyObject *capsule) { free_program(PyCapsule_GetPointer(capsule, PROGRAM)); }

/* Whole numbers as Python packed them, and how far they have been used. */
typedef struct {
    const int64_t *numbers;
    int64_t count, used;
} numbers;

static numbers numbers_of(const Py_buffer *view) {
    return (numbers){view->buf, view->len / (int64_t)sizeof(int64_t), 0};
}

/* The next list of places; 0 if there are not so many, or one is no place. */
static int take_list(avro_program *program, numbers *lists, int64_t count, const int32_t **list, int32_t *size) {
    if (count < 0 || count > lists->count - lists->used) {
        return 0;
    }
    *list = program->lists + lists->used;
    *size = (int32_t)count;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = lists->numbers[lists->used];
        if (place < 0 || place > INT32_MAX) {
            return 0;
        }
        program->lists[lists->used++] = (int32_t)place;
    }
    return 1;
}

static int fill_steps(avro_program *program, const numbers *steps, numbers *lists) {
    for (int32_t i = 0; i < program->step_count; i++) {
        const int64_t *from = steps->numbers + i * STEP_NUMBERS;
        avro_step *step = &program->steps[i];
        if (from[0] < 0 || from[0] >= OP_COUNT || from[1] < -1 || from[1] > INT32_MAX) {
            return 0;
        }
        step->op = (int32_t)from[0];
        step->builder = (int32_t)from[1];
        step->a = from[2];
        step->b = from[3];
        step->c = from[4];
        step->d = from[5];
        if (!take_list(program, lists, from[6], &step->children, &step->child_count)) {
            return 0;
        }
    }
    return 1;
}

static int fill_shapes(avro_program *program, const numbers *shapes, numbers *lists) {
    for (int32_t i = 0; i < program->shape_count; i++) {
        const int64_t *from = shapes->numbers + i * SHAPE_NUMBERS;
        arrow_shape *shape = &program->shapes[i];
        if (from[0] < 0 || from[0] >= ARROW_KIND_COUNT) {
            return 0;
        }
        shape->kind = (int32_t)from[0];
        shape->width = from[1];
        shape->is_nullable = from[2] != 0;
        if (!take_list(program, lists, from[3], &shape->children, &shape->child_count)) {
            return 0;
        }
    }
    return 1;
}

static int fill_columns(avro_program *program, numbers *lists) {
    for (int32_t i = 0; i < program->column_count; i++) {
        int64_t place = lists->numbers[lists->used++];
        if (place < 0 || place > INT32_MAX) {
            return 0;
        }
        program->columns[i] = (int32_t)place;
    }
    return 1;
}

static int fill_constants(avro_program *program, const numbers *sizes, const Py_buffer *bytes) {
    int64_t used = 0;
    memcpy(program->bytes, bytes->buf, (size_t)bytes->len);
    for (int32_t i = 0; i < program->constant_count; i++) {
        int64_t size = sizes->numbers[i];
        if (size < 0 || size > bytes->len - used) {
            return 0;
        }
        program->constants[i] = (avro_constant){program->bytes + used, size};
        used += size;
    }
    return 1;
}

static avro_program *empty_program(const numbers *steps, const numbers *shapes, const numbers *lists,
                                   const numbers *sizes, const Py_buffer *bytes) {
    avro_program *program = calloc(1, sizeof(avro_program));
    if (program == NULL) {
        return NULL;
    }
    program->step_count = (int32_t)(steps->count / STEP_NUMBERS);
    program->shape_count = (int32_t)(shapes->count / SHAPE_NUMBERS);
    program->constant_count = (int32_t)sizes->count;
    program->steps = calloc((size_t)program->step_count + 1, sizeof(avro_step));
    program->shapes = calloc((size_t)program->shape_count + 1, sizeof(arrow_shape));
    program->constants = calloc((size_t)program->constant_count + 1, sizeof(avro_constant));
    program->lists = calloc((size_t)lists->count + 1, sizeof(int32_t));
    program->columns = calloc((size_t)lists->count + 1, sizeof(int32_t));
    program->bytes = malloc((size_t)bytes->len + 1);
    if (program->steps == NULL || program->shapes == NULL || program->constants == NULL ||
        program->lists == NULL || program->columns == NULL || program->bytes == NULL) {
        free_program(program);
        return NULL;
    }
    return program;
}

static int is_small(const numbers *each) { return each->count < INT32_MAX / 2; }

/* The views are steps, shapes, lists of children, sizes of constants, and constants. */
static PyObject *compile_views(Py_buffer *views) {
    numbers steps = numbers_of(&views[0]), shapes = numbers_of(&views[1]), lists = numbers_of(&views[2]),
            sizes = numbers_of(&views[3]);
    if (!is_small(&steps) || !is_small(&shapes) || !is_small(&lists) || !is_small(&sizes)) {
        PyErr_SetString(PyExc_ValueError, "the program is too large");
        return NULL;
    }
    avro_program *program = empty_program(&steps, &shapes, &lists, &sizes, &views[4]);
    if (program == NULL) {
        return PyErr_NoMemory();
    }
    const char *wrong = "the program is cut short";
    if (fill_steps(program, &steps, &lists) && fill_shapes(program, &shapes, &lists)) {
        program->column_count = (int32_t)(lists.count - lists.used);
        if (fill_columns(program, &lists) && fill_constants(program, &sizes, &views[4])) {
            wrong = avro_check_program(program);
        }
    }
    PyObject *capsule = NULL;
    if (wrong != NULL) {
        PyErr_SetString(PyExc_ValueError, wrong);
    } else {
        capsule = PyCapsule_New(program, PROGRAM, free_capsule);
    }
    if (capsule == NULL) {
        free_program(program);
    }
    return capsule;
}

static PyObject *compile_program(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer views[5];
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*:compile_program", &views[0], &views[1], &views[2], &views[3], &views[4])) {
        return NULL;
    }
    PyObject *capsule = compile_views(views);
    for (int i = 0; i < 5; i++) {
        PyBuffer_Release(&views[i]);
    }
    return capsule;
}

static void free_run(avro_run *run) {
    arrow_free(run->builders, run->program->shape_count);
    free(run->faults);
}

static PyObject *outcome(avro_run *run) {
    for (int32_t i = 0; i < run->program->column_count; i++) {
        if (!arrow_is_sound(run->builders, run->program->columns[i])) {
            PyErr_SetString(PyExc_SystemError, "the program has built columns of different lengths");
            return NULL;
        }
    }
    PyObject *builders = arrow_hand_over(run->builders, run->program->shape_count);
    if (builders == NULL) {
        return NULL;
    }
    const char *faults = run->fault_count == 0 ? "" : (const char *)run->faults;
    return Py_BuildValue("(Ny#)", builders, faults, (Py_ssize_t)(run->fault_count * (int64_t)sizeof(avro_fault)));
}

static PyObject *run_payloads(const void *held, const arrow_payloads *payloads) {
    const avro_program *program = held;
    avro_run run = {.program = program, .builders = arrow_make(program->shapes, program->shape_count)};
    if (run.builders == NULL) {
        return PyErr_NoMemory();
    }
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = avro_run_program(&run, payloads);
    Py_END_ALLOW_THREADS
    PyObject *found = NULL;
    if (code == CODE_NONE) {
        found = outcome(&run);
    } else if (code == CODE_NO_MEMORY) {
        PyErr_NoMemory();
    } else {
        PyErr_SetString(PyExc_ValueError, "the offsets are not those of the data");
    }
    free_run(&run);
    return found;
}

static PyObject *run_program(PyObject *Py_UNUSED(module), PyObject *args) {
    return arrow_read(args, PROGRAM, run_payloads);
}

static PyMethodDef methods[] = {
    {"compile_program", compile_program, METH_VARARGS, "Make a program of packed numbers, or raise ValueError."},
    {"run_program", run_program, METH_VARARGS, "Run a program over records: what each builder holds, and packed faults."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_interpreter",
    .m_doc = "Reads Avro records into Arrow buffers, as a compiled schema says.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__interpreter(void) {
    if (arrow_prepare() < 0) {
        return NULL;
    }
    return PyModule_Create(&module);
}
