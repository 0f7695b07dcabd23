/* The Python face of questions: arguments and answers, with other threads running while one waits.
 *
 * A question keeps its asker alive. Answers are handed out as bytes, so that thousands of partitions are three
 * objects. It must not know what an answer means.
 */
#include "asker_type.h"

#include <string.h>
#include <unistd.h>

#include "questions.h"
#include "settings.h"

static const librdkafka *library;

typedef struct {
    PyObject_HEAD
    asker core;
    pid_t process; /* a handle does not survive a fork */
} Asker;

typedef struct {
    PyObject_HEAD
    question core;
    Asker *from;
} Question;

static PyTypeObject QuestionType;

static int usable(Asker *self)
{
    if (self->core.handle == NULL || self->process != getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "the asker is closed, or of another process");
        return -1;
    }
    return 0;
}

static int asker_init(PyObject *object, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    Asker *self = (Asker *)object;
    PyObject *given;
    char why[QUESTIONS_TEXT] = "";
    int is_made = -1;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &given)) {
        return -1;
    }
    if (library->version_str == NULL || self->core.handle != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "load() comes first, and an asker is made once");
        return -1;
    }
    const size_t count = (size_t)PyDict_Size(given);
    kafka_setting *settings = settings_of(given);
    if (settings == NULL) {
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    is_made = asker_open(&self->core, library, settings, count, why, sizeof why);
    Py_END_ALLOW_THREADS
    if (is_made != 0) {
        PyErr_SetString(PyExc_ValueError, why);
    }
    PyMem_Free(settings);
    self->process = getpid();
    return is_made;
}

static void asker_free(PyObject *object)
{
    Asker *self = (Asker *)object;
    if (self->core.handle != NULL && self->process == getpid()) {
        Py_BEGIN_ALLOW_THREADS
        asker_close(&self->core);
        Py_END_ALLOW_THREADS
    }
    Py_TYPE(object)->tp_free(object);
}

static Question *question_of(Asker *self)
{
    Question *made = PyObject_New(Question, &QuestionType);
    if (made != NULL) {
        memset(&made->core, 0, sizeof made->core);
        made->from = (Asker *)Py_NewRef(self);
    }
    return made;
}

static PyObject *asked(Question *made, int is_asked, const char *why)
{
    if (is_asked != 0) {
        Py_DECREF(made);
        PyErr_SetString(PyExc_ValueError, why);
        return NULL;
    }
    return (PyObject *)made;
}

static PyObject *asker_list_offsets(PyObject *object, PyObject *args)
{
    Asker *self = (Asker *)object;
    const char *topic;
    Py_ssize_t first, count;
    long long kind;
    int is_committed, timeout_ms, is_asked;
    char why[QUESTIONS_TEXT] = "";
    if (!PyArg_ParseTuple(args, "snnLpi", &topic, &first, &count, &kind, &is_committed, &timeout_ms) ||
        usable(self) != 0) {
        return NULL;
    }
    if (first < 0 || count <= 0 || count > INT32_MAX - first) {
        PyErr_SetString(PyExc_ValueError, "partitions are whole numbers, and one at least");
        return NULL;
    }
    Question *made = question_of(self);
    if (made == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    is_asked = question_ask_offsets(&made->core, &self->core, topic, (size_t)first, (size_t)count, kind, is_committed,
                                    timeout_ms, why, sizeof why);
    Py_END_ALLOW_THREADS
    return asked(made, is_asked, why);
}

static PyObject *asker_describe(PyObject *object, PyObject *args)
{
    Asker *self = (Asker *)object;
    const char *topic;
    int timeout_ms, is_asked;
    char why[QUESTIONS_TEXT] = "";
    if (!PyArg_ParseTuple(args, "si", &topic, &timeout_ms) || usable(self) != 0) {
        return NULL;
    }
    Question *made = question_of(self);
    if (made == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    is_asked = question_ask_topic(&made->core, &self->core, topic, timeout_ms, why, sizeof why);
    Py_END_ALLOW_THREADS
    return asked(made, is_asked, why);
}

/* What connections reported since the last call, as (code, text). */
static PyObject *asker_troubles(PyObject *object, PyObject *Py_UNUSED(none))
{
    Asker *self = (Asker *)object;
    if (usable(self) != 0) {
        return NULL;
    }
    /* Callbacks are served by the thread that polls, which holds the lock of the interpreter. */
    asker_poll(&self->core);
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found != NULL && i < self->core.trouble_count; i++) {
        PyObject *each = Py_BuildValue("is", self->core.troubles[i].error, self->core.troubles[i].text);
        if (each == NULL || PyList_Append(found, each) != 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(each);
    }
    self->core.trouble_count = 0;
    return found;
}

static PyMethodDef asker_methods[] = {
    {"list_offsets", asker_list_offsets, METH_VARARGS, "Ask for offsets of partitions from a first one on."},
    {"describe", asker_describe, METH_VARARGS, "Ask who a topic is, and for its partitions."},
    {"troubles", asker_troubles, METH_NOARGS, "Return and forget what connections reported."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject AskerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotset.native._reader.Asker",
    .tp_doc = "Asks a cluster questions with thousands of answers.",
    .tp_basicsize = sizeof(Asker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = asker_init,
    .tp_dealloc = asker_free,
    .tp_methods = asker_methods,
};

static void question_free(PyObject *object)
{
    Question *self = (Question *)object;
    if (self->from->process == getpid()) {
        question_close(&self->core);
    }
    Py_DECREF(self->from);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *question_wait_for(PyObject *object, PyObject *args)
{
    Question *self = (Question *)object;
    int wait_ms, is_there;
    if (!PyArg_ParseTuple(args, "i", &wait_ms) || usable(self->from) != 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    is_there = question_wait(&self->core, wait_ms);
    Py_END_ALLOW_THREADS
    return is_there < 0 ? PyErr_NoMemory() : PyBool_FromLong(is_there);
}

/* (error, text, topic id, partitions as int32, offsets as int64, leader epochs as int32) */
static PyObject *question_answer(PyObject *object, PyObject *Py_UNUSED(none))
{
    const question *core = &((Question *)object)->core;
    const Py_ssize_t small = (Py_ssize_t)(core->count * sizeof(int32_t));
    return Py_BuildValue("issy#y#y#", core->error, core->text, core->topic_id, core->partitions, small,
                         core->offsets, (Py_ssize_t)(core->count * sizeof(int64_t)), core->leader_epochs, small);
}

static PyMethodDef question_methods[] = {
    {"wait", question_wait_for, METH_VARARGS, "Wait for the answer; return whether it is there."},
    {"answer", question_answer, METH_NOARGS, "Return the answer."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject QuestionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotset.native._reader.Question",
    .tp_doc = "A question, and its answer once it is there.",
    .tp_basicsize = sizeof(Question),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = question_free,
    .tp_methods = question_methods,
};

int asker_types_add(PyObject *module, const librdkafka *found)
{
    library = found;
    if (PyType_Ready(&AskerType) != 0 || PyType_Ready(&QuestionType) != 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Asker", (PyObject *)&AskerType);
}
