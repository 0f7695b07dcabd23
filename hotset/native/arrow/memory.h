/* Builders' buffers as Python objects. */
#ifndef KAFKAICEBERG_ARROW_MEMORY_H
#define KAFKAICEBERG_ARROW_MEMORY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "builders.h"

/* To be called once, when a module is made; below 0 if that failed. */
int arrow_prepare(void);

/* A builder of each shape, of no length; NULL if there is not enough memory. */
arrow_builder *arrow_make(const arrow_shape *shapes, int32_t count);

/* A list of each builder's length, validity, values and data, which it has no longer. */
PyObject *arrow_hand_over(arrow_builder *builders, int32_t count);

void arrow_free(arrow_builder *builders, int32_t count);

#endif
