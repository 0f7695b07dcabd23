/* Hands columns over to Python, uncopied, as objects with the buffer protocol. See memory.h.
 *
 * Each module has a type of its own for them. This file must not know formats.
 */
#include "memory.h"

#include <stdlib.h>

/* Memory that an Arrow buffer points to. */
typedef struct {
    PyObject_HEAD
    uint8_t *bytes;
    Py_ssize_t size;
} memory;

static void memory_free(PyObject *self) {
    free(((memory *)self)->bytes);
    Py_TYPE(self)->tp_free(self);
}

static int memory_view(PyObject *self, Py_buffer *view, int flags) {
    return PyBuffer_FillInfo(view, self, ((memory *)self)->bytes, ((memory *)self)->size, 1, flags);
}

static PyBufferProcs memory_buffer = {.bf_getbuffer = memory_view};

static PyTypeObject memory_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotset.native.Memory",
    .tp_basicsize = sizeof(memory),
    .tp_dealloc = memory_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Bytes of a column.",
    .tp_as_buffer = &memory_buffer,
};

/* Takes the bytes over, also if it fails; None if there are none. */
static PyObject *memory_of(uint8_t **bytes, int64_t size) {
    if (*bytes == NULL) {
        Py_RETURN_NONE;
    }
    memory *made = PyObject_New(memory, &memory_type);
    if (made == NULL) {
        return NULL;
    }
    made->bytes = *bytes;
    made->size = (Py_ssize_t)size;
    *bytes = NULL;
    return (PyObject *)made;
}

arrow_builder *arrow_make(const arrow_shape *shapes, int32_t count) {
    arrow_builder *made = calloc((size_t)count + 1, sizeof(arrow_builder));
    for (int32_t i = 0; made != NULL && i < count; i++) {
        made[i].shape = &shapes[i];
    }
    return made;
}

int arrow_prepare(void) { return PyType_Ready(&memory_type); }

static int64_t bytes_of_values(const arrow_builder *builder) {
    switch (builder->shape->kind) {
    case ARROW_BIT:
        return (builder->length + 7) / 8;
    case ARROW_FIXED:
        return builder->length * builder->shape->width;
    case ARROW_STRUCT:
        return 0;
    default:
        return (builder->length + 1) * (int64_t)sizeof(int32_t);
    }
}

static PyObject *handed_over(arrow_builder *builder) {
    PyObject *validity = memory_of(&builder->validity, (builder->length + 7) / 8);
    PyObject *values = memory_of(&builder->values, bytes_of_values(builder));
    PyObject *data = memory_of(&builder->data, builder->data_length);
    if (validity == NULL || values == NULL || data == NULL) {
        Py_XDECREF(validity);
        Py_XDECREF(values);
        Py_XDECREF(data);
        return NULL;
    }
    return Py_BuildValue("(LNNN)", (long long)builder->length, validity, values, data);
}

PyObject *arrow_hand_over(arrow_builder *builders, int32_t count) {
    PyObject *all = PyList_New(count);
    for (int32_t i = 0; all != NULL && i < count; i++) {
        PyObject *each = handed_over(&builders[i]);
        if (each == NULL) {
            Py_CLEAR(all);
        } else {
            PyList_SET_ITEM(all, i, each);
        }
    }
    return all;
}

void arrow_free(arrow_builder *builders, int32_t count) {
    for (int32_t i = 0; builders != NULL && i < count; i++) {
        free(builders[i].values);
        free(builders[i].validity);
        free(builders[i].data);
    }
    free(builders);
}
