/* Settings of a handle, out of a Python dictionary. See settings.c. */
#ifndef HOTSET_SETTINGS_H
#define HOTSET_SETTINGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "librdkafka.h"

/* As many as the dictionary has, for PyMem_Free; or NULL and an exception. Text stays the dictionary's. */
kafka_setting *settings_of(PyObject *given);

#endif
