/* Python's buffers as payloads. */
#ifndef KAFKAICEBERG_ARROW_VIEWS_H
#define KAFKAICEBERG_ARROW_VIEWS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "payloads.h"

/* Of offsets, data and validity, of which the last two may be none; 0 and ValueError if there are not so many. */
int arrow_payloads_of(const Py_buffer *views, int64_t first, int64_t count, arrow_payloads *payloads);

/* What is done with payloads, by a program. */
typedef PyObject *arrow_reader(const void *program, const arrow_payloads *payloads);

/* Calls a reader with what Python called with: a program in a capsule, three buffers, the first one and how many. */
PyObject *arrow_read(PyObject *args, const char *capsule, arrow_reader *reader);

#endif
