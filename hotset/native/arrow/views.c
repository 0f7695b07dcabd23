/* Takes records from Python, uncopied, and holds their sizes against each other. See views.h.
 *
 * What offsets say is looked at where records are read. This file must not know formats.
 */
#include "views.h"

int arrow_payloads_of(const Py_buffer *views, int64_t first, int64_t count, arrow_payloads *payloads) {
    static const uint8_t nothing[1];
    int64_t offsets = views[0].len / (int64_t)sizeof(int32_t);
    if (first < 0 || count < 0 || count >= INT32_MAX - 128 || first >= offsets || count >= offsets - first ||
        (views[2].buf != NULL && (first + count + 7) / 8 > views[2].len)) {
        PyErr_SetString(PyExc_ValueError, "there are not so many records");
        return 0;
    }
    *payloads = (arrow_payloads){
        .offsets = views[0].buf,
        .data = views[1].buf == NULL ? nothing : views[1].buf,
        .size = views[1].buf == NULL ? 0 : views[1].len,
        .validity = views[2].buf,
        .first = first,
        .count = count,
    };
    return 1;
}

PyObject *arrow_read(PyObject *args, const char *capsule, arrow_reader *reader) {
    PyObject *held;
    Py_buffer views[3];
    long long first, count;
    if (!PyArg_ParseTuple(args, "Oy*z*z*LL", &held, &views[0], &views[1], &views[2], &first, &count)) {
        return NULL;
    }
    const void *program = PyCapsule_GetPointer(held, capsule);
    arrow_payloads payloads;
    PyObject *found = NULL;
    if (program != NULL && arrow_payloads_of(views, first, count, &payloads)) {
        found = reader(program, &payloads);
    }
    for (int i = 0; i < 3; i++) {
        PyBuffer_Release(&views[i]);
    }
    return found;
}
