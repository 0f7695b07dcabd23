/* Settings of a handle, out of a Python dictionary.
 *
 * librdkafka reads text up to a zero character, so text with one in it is refused. This file must not know
 * what a setting means.
 */
#include "settings.h"

#include <string.h>

static const char *text_of(PyObject *given)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(given, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "a setting has a zero character in it");
        return NULL;
    }
    return text;
}

kafka_setting *settings_of(PyObject *given)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    kafka_setting *settings = PyMem_Calloc((size_t)PyDict_Size(given) + 1, sizeof *settings);
    if (settings == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (kafka_setting *next = settings; PyDict_Next(given, &at, &name, &value); next++) {
        next->name = text_of(name);
        next->value = text_of(value);
        if (next->name == NULL || next->value == NULL) {
            PyMem_Free(settings);
            return NULL;
        }
    }
    return settings;
}
