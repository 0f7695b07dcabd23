/* The Python types of `questions`: `Asker` and `Question`. */
#ifndef HOTSET_ASKER_TYPE_H
#define HOTSET_ASKER_TYPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "librdkafka.h"

/* Add the types to a module, which ask by this library; 0, or -1 with an exception. */
int asker_types_add(PyObject *module, const librdkafka *library);

#endif
