/* Arrow columns that grow value by value, and can be taken back to where a row began.
 *
 * A builder is one buffer layout of Arrow; those of nested types have others as children. Offsets are 32
 * bits wide, and what does not fit is refused. This file must not know of messages or of Python.
 */
#ifndef HOTSET_PROTOBUF_BUILDERS_H
#define HOTSET_PROTOBUF_BUILDERS_H

#include <stddef.h>
#include <stdint.h>

enum { BUILDER_BIT, BUILDER_FIXED, BUILDER_BYTES, BUILDER_LIST, BUILDER_STRUCT };

/* What functions return that may fail. */
enum { DONE = 0, REFUSED = 1, NO_MEMORY = -1 };

typedef struct {
    uint8_t *bytes;
    size_t used;
    size_t capacity;
} growing;

typedef struct builder {
    int64_t kind;
    int64_t width;            /* bytes of a value, of BUILDER_FIXED */
    struct builder *children; /* side by side */
    int64_t child_count;
    size_t length;
    size_t nulls;
    growing validity; /* a bit for each value */
    growing ends;     /* int32: a zero, then where each value ends; BUILDER_BYTES and _LIST */
    growing data;     /* BUILDER_BIT, _FIXED and _BYTES */
    size_t row_length; /* the same as above, where the row began */
    size_t row_nulls;
    size_t row_data;
} builder;

int add_null(builder *to);
int add_bit(builder *to, int is_set);
int add_fixed(builder *to, const void *value);
int add_bytes(builder *to, const uint8_t *value, size_t size);
int add_list(builder *to);   /* of the items that its child has got since the last one */
int add_struct(builder *to); /* the caller fills the children */

/* Begin a row, or forget all that was added since then. */
void begin_row(builder *all, size_t count);
void forget_row(builder *all, size_t count);

void builder_free(builder *of);

#endif
