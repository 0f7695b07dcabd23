/* Reads the wire format, and refuses whatever is not plainly right.
 *
 * What is refused here is read again by the reference decoder, which decides. So this file may refuse
 * anything, and must never take what the reference refuses or reads in another way. It must not know what
 * values become.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "../arrow/utf8.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records and columns are little-endian, and this machine is not"
#endif

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_GROUP, WIRE_END, WIRE_32 };
enum { LONGEST_TAG = 5, LONGEST_SIZE = 5, LONGEST_VARINT = 10 };

/* Read a varint; NULL if it is cut short or larger than 64 bits. */
static const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint64_t *found)
{
    if (at < end && *at < 0x80) {
        *found = *at;
        return at + 1;
    }
    uint64_t number = 0;
    for (int byte = 0; byte < LONGEST_VARINT && at < end; byte++, at++) {
        number |= (uint64_t)(*at & 0x7f) << (7 * byte);
        if (*at < 0x80) {
            *found = number;
            return byte == LONGEST_VARINT - 1 && *at > 1 ? NULL : at + 1;
        }
    }
    return NULL;
}

static int64_t zigzag(uint64_t coded)
{
    return (int64_t)((coded >> 1) ^ (~(coded & 1) + 1));
}

static int64_t number_of(int64_t type, uint64_t raw)
{
    switch (type) {
    case TYPE_INT32:
    case TYPE_ENUM:
    case TYPE_SFIXED32:
        return (int32_t)(uint32_t)raw;
    case TYPE_UINT32:
    case TYPE_FIXED32:
    case TYPE_FLOAT:
        return (int64_t)(uint32_t)raw;
    case TYPE_SINT32:
        return zigzag((uint32_t)raw);
    case TYPE_SINT64:
        return zigzag(raw);
    case TYPE_BOOL:
        return raw != 0;
    default:
        return (int64_t)raw;
    }
}

static unsigned wire_type(int64_t type)
{
    switch (type) {
    case TYPE_DOUBLE:
    case TYPE_FIXED64:
    case TYPE_SFIXED64:
        return WIRE_64;
    case TYPE_FLOAT:
    case TYPE_FIXED32:
    case TYPE_SFIXED32:
        return WIRE_32;
    case TYPE_STRING:
    case TYPE_BYTES:
    case TYPE_MESSAGE:
        return WIRE_BYTES;
    case TYPE_GROUP:
        return WIRE_GROUP;
    default:
        return WIRE_VARINT;
    }
}

static const uint8_t *read_raw(unsigned wire, const uint8_t *at, const uint8_t *end, uint64_t *raw)
{
    *raw = 0;
    if (wire == WIRE_VARINT) {
        return read_varint(at, end, raw);
    }
    const size_t width = wire == WIRE_64 ? 8 : 4;
    if ((size_t)(end - at) < width) {
        return NULL;
    }
    memcpy(raw, at, width);
    return at + width;
}

static const uint8_t *read_size(const uint8_t *at, const uint8_t *end, size_t *size)
{
    uint64_t told;
    const uint8_t *start = at;
    at = read_varint(at, end, &told);
    if (at == NULL || at - start > LONGEST_SIZE || told > (uint64_t)(end - at)) {
        return NULL;
    }
    *size = (size_t)told;
    return at;
}

static const uint8_t *skip(unsigned wire, const uint8_t *at, const uint8_t *end)
{
    uint64_t raw;
    size_t size;
    if (wire == WIRE_BYTES) {
        at = read_size(at, end, &size);
        return at == NULL ? NULL : at + size;
    }
    /* Groups are left to the reference. */
    return wire == WIRE_VARINT || wire == WIRE_64 || wire == WIRE_32 ? read_raw(wire, at, end, &raw) : NULL;
}

static const field_plan *find_field(
    const field_plan *fields, int64_t count, uint64_t number, int64_t *expected)
{
    if (*expected < count && fields[*expected].number == (int64_t)number) {
        return fields + (*expected)++;
    }
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (fields[middle].number < (int64_t)number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == count || fields[low].number != (int64_t)number) {
        return NULL;
    }
    *expected = fields[low].shape == SHAPE_SINGLE ? low + 1 : low;
    return fields + low;
}

/* A member of a oneof takes the place of the others. */
static int clear_others(machine *on, const message_plan *message, const field_plan *chosen)
{
    const field_plan *fields = on->fields + message->first_field;
    for (const field_plan *each = fields; each < fields + message->field_count; each++) {
        if (each->oneof != chosen->oneof || each == chosen || each->slot < 0) {
            continue;
        }
        slot *other = on->slots + message->first_slot + each->slot;
        if (other->is_there && each->message >= 0) {
            return REFUSED; /* it was not looked into yet, and might be damaged */
        }
        other->is_there = 0;
    }
    return DONE;
}

static int take_number(machine *on, const field_plan *field, slot *slots, uint64_t raw)
{
    const slot found = {.number = number_of(field->type, raw), .is_there = 1};
    if (field->is_closed && name_of(on, field, found.number) == NULL) {
        return REFUSED;
    }
    if (field->slot < 0) {
        return DONE;
    }
    if (field->shape == SHAPE_LIST) {
        return emit_value(on, field, &found, 0);
    }
    slots[field->slot] = found;
    return DONE;
}

static int take_packed(machine *on, const field_plan *field, const uint8_t *at, size_t size)
{
    const unsigned wire = wire_type(field->type);
    const uint8_t *end = at + size;
    while (at < end) {
        uint64_t raw;
        at = read_raw(wire, at, end, &raw);
        if (at == NULL) {
            return REFUSED;
        }
        const int done = take_number(on, field, NULL, raw);
        if (done != DONE) {
            return done;
        }
    }
    return DONE;
}

static int keep_entry(machine *on, const field_plan *field, const message_plan *message)
{
    if (on->entry_count == on->entry_capacity) {
        const size_t capacity = on->entry_capacity == 0 ? 64 : on->entry_capacity * 2;
        entry *entries = realloc(on->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return NO_MEMORY;
        }
        on->entries = entries;
        on->entry_capacity = capacity;
    }
    const slot *slots = on->slots + message->first_slot;
    on->entries[on->entry_count++] = (entry){
        .field = field,
        .key_type = on->fields[message->first_field].type,
        .key = slots[0],
        .value = slots[1],
    };
    return DONE;
}

static int take_message(machine *on, const field_plan *field, slot *slots, const slot *found, int depth)
{
    const message_plan *message = on->messages + field->message;
    if (field->slot >= 0 && field->shape == SHAPE_LIST) {
        return emit_value(on, field, found, depth);
    }
    if (field->slot >= 0 && field->shape == SHAPE_SINGLE) {
        if (slots[field->slot].is_there) {
            return REFUSED; /* the two are to be merged */
        }
        slots[field->slot] = *found;
        return DONE;
    }
    const int done = scan(on, message, found->bytes, found->size, depth + 1);
    return done == DONE && field->slot >= 0 ? keep_entry(on, field, message) : done;
}

static int take_bytes(machine *on, const field_plan *field, slot *slots, const slot *found, int depth)
{
    switch (field->type) {
    case TYPE_MESSAGE:
        return take_message(on, field, slots, found, depth);
    case TYPE_STRING:
        if (!arrow_is_utf8(found->bytes, (int64_t)found->size)) {
            return REFUSED;
        }
        break;
    case TYPE_BYTES:
        break;
    default:
        return field->shape == SHAPE_LIST ? take_packed(on, field, found->bytes, found->size) : REFUSED;
    }
    if (field->slot < 0) {
        return DONE;
    }
    if (field->shape == SHAPE_LIST) {
        return emit_value(on, field, found, depth);
    }
    slots[field->slot] = *found;
    return DONE;
}

static const uint8_t *take_field(
    machine *on, const field_plan *field, slot *slots, unsigned wire, const uint8_t *at, const uint8_t *end,
    int depth, int *done)
{
    if (wire == WIRE_BYTES) {
        slot found = {.is_there = 1};
        at = read_size(at, end, &found.size);
        if (at == NULL) {
            *done = REFUSED;
            return end;
        }
        found.bytes = at;
        *done = take_bytes(on, field, slots, &found, depth);
        return at + found.size;
    }
    uint64_t raw;
    if (wire != wire_type(field->type) || wire == WIRE_GROUP) {
        at = NULL; /* to the reference it is an unknown field */
    } else {
        at = read_raw(wire, at, end, &raw);
    }
    *done = at == NULL ? REFUSED : take_number(on, field, slots, raw);
    return at;
}

int scan(machine *on, const message_plan *message, const uint8_t *from, size_t size, int depth)
{
    const uint8_t *at = from, *end = from + size;
    const field_plan *fields = on->fields + message->first_field;
    slot *slots = on->slots + message->first_slot;
    int64_t expected = 0;
    uint64_t seen = 0;
    if (depth > DEEPEST) {
        return REFUSED;
    }
    for (int64_t each = 0; each < message->slot_count; each++) {
        slots[each] = (slot){0};
    }
    while (at < end) {
        uint64_t tag;
        const uint8_t *start = at;
        at = read_varint(at, end, &tag);
        if (at == NULL || at - start > LONGEST_TAG || tag > UINT32_MAX || tag >> 3 == 0) {
            return REFUSED;
        }
        const field_plan *field = find_field(fields, message->field_count, tag >> 3, &expected);
        if (field == NULL) {
            at = message->takes_unknown ? skip(tag & 7, at, end) : NULL;
            if (at == NULL) {
                return REFUSED;
            }
            continue;
        }
        seen |= (uint64_t)field->required;
        int done = field->oneof >= 0 ? clear_others(on, message, field) : DONE;
        if (done == DONE) {
            at = take_field(on, field, slots, tag & 7, at, end, depth, &done);
        }
        if (done != DONE) {
            return done;
        }
    }
    return (seen & (uint64_t)message->required) == (uint64_t)message->required ? DONE : REFUSED;
}
