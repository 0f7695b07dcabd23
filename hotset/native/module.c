/* The Python face of the reader: `hotset.native._reader`.
 *
 * It turns arguments and results, lets other threads run while the reader waits and copies, and hands its
 * columns out as buffers without a copy. It must not know what an outcome means.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>
#include <unistd.h>

#include "asker_type.h"
#include "reader.h"
#include "settings.h"

static librdkafka library;
static int is_loaded;

/* ---- Buffer: memory that the reader has filled, for whoever can read buffers ---- */

typedef struct {
    PyObject_HEAD
    growing content;
} Buffer;

static int buffer_get(PyObject *object, Py_buffer *view, int flags)
{
    static char nothing[1];
    const growing *content = &((Buffer *)object)->content;
    void *bytes = content->bytes != NULL ? (void *)content->bytes : (void *)nothing;
    return PyBuffer_FillInfo(view, object, bytes, (Py_ssize_t)content->used, 1, flags);
}

static void buffer_free(PyObject *object)
{
    growing_free(&((Buffer *)object)->content);
    Py_TYPE(object)->tp_free(object);
}

static PyBufferProcs buffer_procs = {.bf_getbuffer = buffer_get};

static PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotset.native._reader.Buffer",
    .tp_doc = "Memory that a reader has filled.",
    .tp_basicsize = sizeof(Buffer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = buffer_free,
    .tp_as_buffer = &buffer_procs,
};

/* The content moves into the new object, and is gone from the column even if there is none. */
static PyObject *buffer_of(growing *content)
{
    Buffer *made = PyObject_New(Buffer, &BufferType);
    if (made == NULL) {
        growing_free(content);
        return NULL;
    }
    made->content = growing_give(content);
    return (PyObject *)made;
}

/* (rows, nulls, validity, ends, data) */
static PyObject *binary_of(binary_column *column)
{
    PyObject *made = Py_BuildValue("nnNNN", (Py_ssize_t)column->rows, (Py_ssize_t)column->nulls,
                                   buffer_of(&column->validity), buffer_of(&column->ends),
                                   buffer_of(&column->data));
    column->rows = column->nulls = 0;
    return made;
}

/* ---- Reader ---- */

typedef struct {
    PyObject_HEAD
    reader core;
    pid_t process; /* a handle does not survive a fork */
    int is_open;
    int is_busy;
} Reader;

static int enter(Reader *self)
{
    const char *why = !self->is_open                ? "the reader is closed"
                      : self->process != getpid()   ? "the reader is of another process"
                      : self->is_busy               ? "the reader is in use by another thread"
                                                    : NULL;
    if (why != NULL) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return -1;
    }
    self->is_busy = 1;
    return 0;
}

static int reader_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"settings", "has_keys", "has_headers", NULL};
    Reader *self = (Reader *)object;
    PyObject *given;
    int has_keys, has_headers, is_made = -1;
    char why[READER_TEXT] = "";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!pp", names, &PyDict_Type, &given, &has_keys,
                                     &has_headers)) {
        return -1;
    }
    if (!is_loaded || self->is_open) {
        PyErr_SetString(PyExc_RuntimeError, "load() comes first, and a reader is made once");
        return -1;
    }
    const size_t count = (size_t)PyDict_Size(given);
    kafka_setting *settings = settings_of(given);
    if (settings == NULL) {
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    is_made = reader_open(&self->core, &library, settings, count, why, sizeof why);
    Py_END_ALLOW_THREADS
    if (is_made != 0) {
        PyErr_SetString(PyExc_ValueError, why);
    }
    PyMem_Free(settings);
    self->core.has_keys = has_keys;
    self->core.has_headers = has_headers;
    self->process = getpid();
    self->is_open = is_made == 0;
    return is_made;
}

static reader_range *read_ranges(PyObject *given, size_t count)
{
    reader_range *ranges = calloc(count + 1, sizeof *ranges);
    if (ranges == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        long long next, end;
        PyObject *range = PyList_GET_ITEM(given, (Py_ssize_t)i);
        if (!PyTuple_Check(range)) {
            PyErr_SetString(PyExc_TypeError, "a range is a tuple");
            free(ranges);
            return NULL;
        }
        if (!PyArg_ParseTuple(range, "iLLi", &ranges[i].partition, &next, &end, &ranges[i].leader_epoch)) {
            free(ranges);
            return NULL;
        }
        if (i > 0 && ranges[i].partition <= ranges[i - 1].partition) {
            PyErr_SetString(PyExc_ValueError, "ranges are in the order of partitions, one for each");
            free(ranges);
            return NULL;
        }
        ranges[i].next = next;
        ranges[i].end = end;
    }
    return ranges;
}

static PyObject *method_assign(PyObject *object, PyObject *args)
{
    Reader *self = (Reader *)object;
    const char *topic;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "sO!", &topic, &PyList_Type, &given) || enter(self) != 0) {
        return NULL;
    }
    const size_t count = (size_t)PyList_GET_SIZE(given);
    reader_range *ranges = NULL;
    int error = 0;
    if (self->core.ranges != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the reader is assigned");
    } else if ((ranges = read_ranges(given, count)) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        error = reader_assign(&self->core, topic, ranges, count);
        Py_END_ALLOW_THREADS
    }
    self->is_busy = 0;
    return ranges == NULL ? NULL : PyLong_FromLong(error);
}

static PyObject *method_unassign(PyObject *object, PyObject *Py_UNUSED(none))
{
    Reader *self = (Reader *)object;
    int error;
    if (enter(self) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    error = reader_unassign(&self->core);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    return PyLong_FromLong(error);
}

static PyObject *method_take(PyObject *object, PyObject *args)
{
    Reader *self = (Reader *)object;
    Py_ssize_t rows, bytes;
    int wait_ms;
    if (!PyArg_ParseTuple(args, "nni", &rows, &bytes, &wait_ms)) {
        return NULL;
    }
    if (rows <= 0 || bytes <= 0 || bytes > INT32_MAX / 2 || wait_ms < 0) {
        PyErr_SetString(PyExc_ValueError, "limits are above zero, and bytes at most a gigabyte");
        return NULL;
    }
    if (enter(self) != 0) {
        return NULL;
    }
    reader_outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = reader_take(&self->core, (size_t)rows, (size_t)bytes, wait_ms);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    return outcome == READER_NO_MEMORY ? PyErr_NoMemory() : PyLong_FromLong(outcome);
}

/* A list of (partition, offset) of all ranges. */
static PyObject *pairs_of(const Reader *self, const int64_t *offsets)
{
    PyObject *list = PyList_New((Py_ssize_t)self->core.range_count);
    for (size_t i = 0; list != NULL && i < self->core.range_count; i++) {
        const reader_range *range = &self->core.ranges[i];
        PyObject *pair =
            Py_BuildValue("iL", range->partition, (long long)(offsets != NULL ? offsets[i] : range->next));
        if (pair == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, pair);
        }
    }
    return list;
}

static PyObject *method_next_offsets(PyObject *object, PyObject *Py_UNUSED(none))
{
    return pairs_of((Reader *)object, NULL);
}

static PyObject *method_positions(PyObject *object, PyObject *Py_UNUSED(none))
{
    Reader *self = (Reader *)object;
    if (enter(self) != 0) {
        return NULL;
    }
    int64_t *offsets = calloc(self->core.range_count + 1, sizeof *offsets);
    PyObject *pairs = NULL;
    if (offsets == NULL) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        (void)reader_positions(&self->core, offsets);
        Py_END_ALLOW_THREADS
        pairs = pairs_of(self, offsets);
    }
    free(offsets);
    self->is_busy = 0;
    return pairs;
}

static PyObject *method_event(PyObject *object, PyObject *Py_UNUSED(none))
{
    const reader_event *event = &((Reader *)object)->core.event;
    return Py_BuildValue("iLiN", event->partition, (long long)event->offset, event->error,
                         PyUnicode_DecodeUTF8(event->text, (Py_ssize_t)strlen(event->text), "replace"));
}

static PyObject *method_troubles(PyObject *object, PyObject *Py_UNUSED(none))
{
    reader *core = &((Reader *)object)->core;
    PyObject *list = PyList_New((Py_ssize_t)core->trouble_count);
    for (size_t i = 0; list != NULL && i < core->trouble_count; i++) {
        const char *text = core->troubles[i].text;
        PyObject *pair = Py_BuildValue("iN", core->troubles[i].error,
                                       PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
        if (pair == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, pair);
        }
    }
    core->trouble_count = 0;
    return list;
}

static PyObject *method_pass_over(PyObject *object, PyObject *args)
{
    Reader *self = (Reader *)object;
    int partition;
    long long next;
    if (!PyArg_ParseTuple(args, "iL", &partition, &next)) {
        return NULL;
    }
    reader_range *range = reader_range_of(&self->core, partition);
    if (range != NULL && next > range->next) {
        range->next = next;
    }
    Py_RETURN_NONE;
}

static PyObject *method_leave(PyObject *object, PyObject *args)
{
    Reader *self = (Reader *)object;
    int partition;
    if (!PyArg_ParseTuple(args, "i", &partition) || enter(self) != 0) {
        return NULL;
    }
    reader_range *range = reader_range_of(&self->core, partition);
    if (range != NULL) {
        Py_BEGIN_ALLOW_THREADS
        (void)reader_leave(&self->core, range);
        Py_END_ALLOW_THREADS
    }
    self->is_busy = 0;
    Py_RETURN_NONE;
}

static PyObject *method_hand_out(PyObject *object, PyObject *Py_UNUSED(none))
{
    Reader *self = (Reader *)object;
    if (enter(self) != 0) {
        return NULL;
    }
    reader_columns *columns = &self->core.columns;
    PyObject *made = Py_BuildValue(
        "nNNNNNnNNNNN", (Py_ssize_t)columns->rows, buffer_of(&columns->partition),
        buffer_of(&columns->offset), buffer_of(&columns->timestamp_ms), binary_of(&columns->value),
        binary_of(&columns->key), (Py_ssize_t)columns->timestamps_unknown,
        buffer_of(&columns->timestamp_known), buffer_of(&columns->timestamp_type),
        buffer_of(&columns->header_ends), binary_of(&columns->header_name),
        binary_of(&columns->header_value));
    reader_begin_columns(&self->core);
    self->is_busy = 0;
    return made;
}

static PyObject *method_close(PyObject *object, PyObject *Py_UNUSED(none))
{
    Reader *self = (Reader *)object;
    if (!self->is_open || self->process != getpid()) {
        Py_RETURN_NONE;
    }
    if (enter(self) != 0) {
        return NULL;
    }
    self->is_open = 0;
    Py_BEGIN_ALLOW_THREADS
    reader_close(&self->core);
    Py_END_ALLOW_THREADS
    self->is_busy = 0;
    Py_RETURN_NONE;
}

static PyObject *get_rows(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((Reader *)object)->core.columns.rows);
}

static void reader_free(PyObject *object)
{
    Reader *self = (Reader *)object;
    /* In a child, the handle's threads and locks are in the state of the moment of the fork. */
    if (self->is_open && self->process == getpid()) {
        reader_close(&self->core);
    }
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef reader_methods[] = {
    {"assign", method_assign, METH_VARARGS, "Begin to fetch; return 0 or librdkafka's error code."},
    {"unassign", method_unassign, METH_NOARGS, "Fetch nothing, and be assigned again; 0 or an error code."},
    {"take", method_take, METH_VARARGS, "Take what arrives into the columns; return the outcome."},
    {"next_offsets", method_next_offsets, METH_NOARGS, "Where each range stands by its records."},
    {"positions", method_positions, METH_NOARGS, "Where each range stands by the handle's position."},
    {"event", method_event, METH_NOARGS, "What is in the way, after that outcome."},
    {"troubles", method_troubles, METH_NOARGS, "What went wrong with connections since the last call."},
    {"pass_over", method_pass_over, METH_VARARGS, "Want nothing of a partition below an offset."},
    {"leave", method_leave, METH_VARARGS, "Fetch no more of a partition."},
    {"hand_out", method_hand_out, METH_NOARGS, "Give the columns away and begin new ones."},
    {"close", method_close, METH_NOARGS, "Give the handle back."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_properties[] = {
    {"rows", get_rows, NULL, "Records in the columns.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject ReaderType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotset.native._reader.Reader",
    .tp_doc = "Takes exact offset ranges of a topic into columns.",
    .tp_basicsize = sizeof(Reader),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = reader_init,
    .tp_dealloc = reader_free,
    .tp_methods = reader_methods,
    .tp_getset = reader_properties,
};

/* ---- the module ---- */

static PyObject *load(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *path;
    char why[READER_TEXT] = "";
    if (!PyArg_ParseTuple(args, "s", &path)) {
        return NULL;
    }
    if (!is_loaded && librdkafka_load(&library, path, why, sizeof why) != 0) {
        PyErr_SetString(PyExc_OSError, why);
        return NULL;
    }
    is_loaded = 1;
    return PyUnicode_FromString(library.version_str());
}

static PyMethodDef functions[] = {
    {"load", load, METH_VARARGS, "Find librdkafka in a shared object; return its version."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hotset.native._reader",
    .m_doc = "Takes records out of librdkafka without a Python object for each.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__reader(void)
{
    if (PyType_Ready(&BufferType) != 0 || PyType_Ready(&ReaderType) != 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyModule_AddObjectRef(module, "Reader", (PyObject *)&ReaderType) != 0 ||
        PyModule_AddIntConstant(module, "WAITED", READER_WAITED) != 0 ||
        PyModule_AddIntConstant(module, "MORE", READER_MORE) != 0 ||
        PyModule_AddIntConstant(module, "FULL", READER_FULL) != 0 ||
        PyModule_AddIntConstant(module, "EVENT", READER_EVENT) != 0 || asker_types_add(module, &library) != 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
