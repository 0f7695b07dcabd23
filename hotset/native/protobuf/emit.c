/* Turns what was read into values of columns, and refuses what does not fit exactly.
 *
 * The table of forms is the one of `hotset/decode/protobuf/plan.py`; why a value does not fit is for the
 * reference decoder to say. This file must not know the wire format.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../arrow/keys.h"
#include "../arrow/powers.h"
#include "../arrow/uuids.h"

typedef __int128 wide;

enum { MOST_DIGITS = 38, WIDEST = 16 };
static const int64_t FIRST_SECOND = -62135596800, LAST_SECOND = 253402300799;
static const int64_t NANOS = 1000000000, MICROS = 1000000;

const name_plan *name_of(const machine *on, const field_plan *field, int64_t number)
{
    const name_plan *names = on->names + field->first_name;
    int64_t low = 0, high = field->name_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (names[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < field->name_count && names[low].number == number ? names + low : NULL;
}

static int add_fixed(arrow_builder *to, const void *value)
{
    const int done = arrow_make_room(to);
    if (done == DONE) {
        const size_t width = (size_t)to->shape->width;
        memcpy(to->values + (size_t)to->length++ * width, value, width);
    }
    return done;
}

static int add_bytes(arrow_builder *to, const uint8_t *value, size_t size)
{
    int done = arrow_make_room(to);
    done = done == DONE ? arrow_make_data_room(to, (int64_t)size) : done;
    if (done == DONE) {
        if (size > 0) {
            memcpy(to->data + to->data_length, value, size);
        }
        arrow_end_bytes(to, (int64_t)size);
    }
    return done;
}

/* The caller fills the parts. */
static int add_struct(arrow_builder *to)
{
    const int done = arrow_make_room(to);
    to->length += done == DONE;
    return done;
}

static int is_unsigned(const field_plan *field)
{
    return field->type == TYPE_UINT64 || field->type == TYPE_FIXED64;
}

static int emit_integer(arrow_builder *to, const field_plan *field, int64_t number)
{
    if (is_unsigned(field) && number < 0) {
        return REFUSED;
    }
    const int64_t largest = to->shape->width == 8 ? INT64_MAX : ((int64_t)1 << (8 * to->shape->width - 1)) - 1;
    if (number > largest || number < -largest - 1) {
        return REFUSED;
    }
    return add_fixed(to, &number);
}

static int emit_scaled(arrow_builder *to, const field_plan *field, wide number, int64_t scale)
{
    const int64_t shift = number == 0 ? 0 : field->scale - scale;
    if (shift > MOST_DIGITS || shift < -MOST_DIGITS) {
        return REFUSED;
    }
    if (shift > 0 && __builtin_mul_overflow(number, (wide)arrow_power_of_ten(shift), &number)) {
        return REFUSED;
    }
    if (shift < 0) {
        const wide unit = (wide)arrow_power_of_ten(-shift);
        if (number % unit != 0) {
            return REFUSED;
        }
        number /= unit;
    }
    const wide limit = (wide)arrow_power_of_ten(field->precision);
    if (number >= limit || number <= -limit) {
        return REFUSED;
    }
    return add_fixed(to, &number);
}

static int emit_whole_decimal(arrow_builder *to, const field_plan *field, int64_t number)
{
    return emit_scaled(to, field, is_unsigned(field) ? (wide)(uint64_t)number : (wide)number, 0);
}

static int emit_floating(arrow_builder *to, const field_plan *field, int64_t bits)
{
    double found;
    float narrow;
    if (field->type == TYPE_FLOAT) {
        const uint32_t raw = (uint32_t)bits;
        memcpy(&narrow, &raw, sizeof narrow);
        found = narrow;
    } else {
        memcpy(&found, &bits, sizeof found);
    }
    if (to->shape->width == sizeof found) {
        return add_fixed(to, &found);
    }
    narrow = (float)found;
    return isinf(narrow) && !isinf(found) ? REFUSED : add_fixed(to, &narrow);
}

static int emit_milliseconds(arrow_builder *to, const field_plan *field, int64_t number)
{
    int64_t units;
    return __builtin_mul_overflow(number, field->precision / 1000, &units) ? REFUSED : add_fixed(to, &units);
}

static int emit_name(machine *on, const field_plan *field, int64_t number)
{
    const name_plan *name = name_of(on, field, number);
    if (name == NULL) {
        return REFUSED;
    }
    return add_bytes(on->builders + field->builder, on->blob + name->at, (size_t)name->size);
}

static int emit_uuid(arrow_builder *to, const slot *text)
{
    uint8_t found[ARROW_UUID_BYTES];
    return arrow_parse_uuid(text->bytes, (int64_t)text->size, found) ? add_fixed(to, found) : REFUSED;
}

static int emit_timestamp(arrow_builder *to, const field_plan *field, const slot *parts)
{
    const int64_t seconds = parts[0].number, nanos = parts[1].number;
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= NANOS) {
        return REFUSED;
    }
    const int64_t per_unit = NANOS / field->precision;
    const wide units = (wide)seconds * field->precision + nanos / per_unit;
    if (nanos % per_unit != 0 || units < INT64_MIN || units > INT64_MAX) {
        return REFUSED;
    }
    const int64_t found = (int64_t)units;
    return add_fixed(to, &found);
}

static int is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int emit_date(arrow_builder *to, const slot *parts)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int64_t year = parts[0].number, month = parts[1].number, day = parts[2].number;
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && is_leap(year))) {
        return REFUSED;
    }
    const int64_t before = year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 + day - 1;
    for (int64_t each = 0; each < month - 1; each++) {
        days += lengths[each];
    }
    days += month > 2 && is_leap(year);
    const int32_t since_1970 = (int32_t)(days - 719162);
    return add_fixed(to, &since_1970);
}

static int emit_time_of_day(arrow_builder *to, const slot *parts)
{
    static const int64_t limits[] = {24, 60, 60, 1000000000};
    for (int at = 0; at < 4; at++) {
        if (parts[at].number < 0 || parts[at].number >= limits[at]) {
            return REFUSED;
        }
    }
    if (parts[3].number % 1000 != 0) {
        return REFUSED;
    }
    const int64_t seconds = (parts[0].number * 60 + parts[1].number) * 60 + parts[2].number;
    const int64_t micros = seconds * MICROS + parts[3].number / 1000;
    return add_fixed(to, &micros);
}

static int emit_decimal(arrow_builder *to, const field_plan *field, const slot *parts)
{
    if (parts[0].size == 0 || parts[0].size > WIDEST) {
        return REFUSED;
    }
    unsigned __int128 number = parts[0].bytes[0] & 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t at = 0; at < parts[0].size; at++) {
        number = number << 8 | parts[0].bytes[at];
    }
    return emit_scaled(to, field, (wide)number, parts[1].number);
}

static int emit_message(machine *on, const field_plan *field, const slot *value, int depth)
{
    static const uint8_t nothing[1] = {0};
    const message_plan *message = on->messages + field->message;
    const slot *parts = on->slots + message->first_slot;
    arrow_builder *to = on->builders + field->builder;
    const size_t base = on->entry_count;
    int done = scan(on, message, value->size == 0 ? nothing : value->bytes, value->size, depth + 1);
    if (done == DONE) {
        switch (field->form) {
        case FORM_STRUCT:
            done = add_struct(to);
            done = done == DONE ? emit_parts(on, message, base, depth + 1) : done;
            break;
        case FORM_WRAPPER:
            done = emit_parts(on, message, base, depth + 1);
            break;
        case FORM_TIMESTAMP:
            done = emit_timestamp(to, field, parts);
            break;
        case FORM_DATE:
            done = emit_date(to, parts);
            break;
        case FORM_TIME_OF_DAY:
            done = emit_time_of_day(to, parts);
            break;
        case FORM_DECIMAL:
            done = emit_decimal(to, field, parts);
            break;
        default:
            done = REFUSED;
        }
    }
    on->entry_count = base;
    return done;
}

int emit_value(machine *on, const field_plan *field, const slot *value, int depth)
{
    arrow_builder *to = on->builders + field->builder;
    switch (field->form) {
    case FORM_BOOLEAN:
        return arrow_append_bit(to, value->number != 0);
    case FORM_INTEGER:
        return emit_integer(to, field, value->number);
    case FORM_WHOLE_DECIMAL:
        return emit_whole_decimal(to, field, value->number);
    case FORM_MILLISECONDS:
        return emit_milliseconds(to, field, value->number);
    case FORM_FLOATING:
        return emit_floating(to, field, value->number);
    case FORM_STRING:
    case FORM_BINARY:
        return add_bytes(to, value->bytes, value->size);
    case FORM_FIXED:
        return value->size == (size_t)to->shape->width ? add_fixed(to, value->bytes) : REFUSED;
    case FORM_NAME:
        return emit_name(on, field, value->number);
    case FORM_UUID_TEXT:
        return emit_uuid(to, value);
    default:
        return emit_message(on, field, value, depth);
    }
}

static int compare_keys(const entry *left, const entry *right)
{
    if (left->key_type == TYPE_STRING) {
        const size_t shorter = left->key.size < right->key.size ? left->key.size : right->key.size;
        const int order = shorter == 0 ? 0 : memcmp(left->key.bytes, right->key.bytes, shorter);
        return order != 0 ? order : (left->key.size > right->key.size) - (left->key.size < right->key.size);
    }
    const int64_t one = left->key.number, other = right->key.number;
    if (left->key_type == TYPE_UINT64 || left->key_type == TYPE_FIXED64) {
        return ((uint64_t)one > (uint64_t)other) - ((uint64_t)one < (uint64_t)other);
    }
    return (one > other) - (one < other);
}

static int compare_entries(const void *left, const void *right)
{
    const entry *one = left, *other = right;
    if (one->field != other->field) {
        return one->field < other->field ? -1 : 1;
    }
    return compare_keys(one, other);
}

static int emit_entries(machine *on, const field_plan *field, size_t base, size_t end, int depth)
{
    const message_plan *message = on->messages + field->message;
    const field_plan *parts = on->fields + message->first_field;
    const arrow_builder *keys = on->builders + parts->builder;
    const int64_t first_key = keys->length;
    size_t before = end;
    for (size_t at = base; at < end; at++) {
        if (on->entries[at].field != field) {
            continue;
        }
        if (before != end && compare_keys(on->entries + before, on->entries + at) == 0) {
            return REFUSED; /* the later one counts, and the earlier one was not looked into */
        }
        before = at;
        /* A copy, since a value may hold maps too and move the entries. */
        const entry each = on->entries[at];
        int done = add_struct(on->builders + field->builder);
        done = done == DONE ? emit_value(on, parts, &each.key, depth + 1) : done;
        done = done == DONE ? emit_value(on, parts + 1, &each.value, depth + 1) : done;
        if (done != DONE) {
            return done;
        }
    }
    /* Different texts may be one UUID. */
    const int twins = parts->form == FORM_UUID_TEXT ? arrow_has_twins(keys, first_key) : 0;
    if (twins != 0) {
        return twins == NO_MEMORY ? NO_MEMORY : REFUSED;
    }
    return arrow_append_list(on->builders, on->builders + field->list);
}

static int emit_single(machine *on, const field_plan *field, const slot *found, int depth)
{
    if (found->is_there) {
        return emit_value(on, field, found, depth);
    }
    if (field->is_null) {
        return field->must ? REFUSED : arrow_append_null(on->builders, (int32_t)field->builder);
    }
    const slot value = {
        .number = field->number_default,
        .bytes = on->blob + field->default_at,
        .size = (size_t)field->default_size,
    };
    return emit_value(on, field, &value, depth);
}

int emit_parts(machine *on, const message_plan *message, size_t base, int depth)
{
    const field_plan *fields = on->fields + message->first_field;
    const slot *slots = on->slots + message->first_slot;
    const size_t end = on->entry_count;
    if (end - base > 1) {
        qsort(on->entries + base, end - base, sizeof *on->entries, compare_entries);
    }
    for (int64_t at = 0; at < message->absent_count; at++) {
        const int done = arrow_append_null(on->builders, (int32_t)on->absents[message->first_absent + at]);
        if (done != DONE) {
            return done;
        }
    }
    for (const field_plan *field = fields; field < fields + message->field_count; field++) {
        int done = DONE;
        if (field->slot < 0) {
            continue;
        }
        if (field->shape == SHAPE_SINGLE) {
            done = emit_single(on, field, slots + field->slot, depth);
        } else if (field->shape == SHAPE_LIST) {
            done = arrow_append_list(on->builders, on->builders + field->list);
        } else {
            done = emit_entries(on, field, base, end, depth);
        }
        if (done != DONE) {
            return done;
        }
    }
    return DONE;
}

int run_message(machine *on, const message_plan *message, const uint8_t *from, size_t size, int depth)
{
    on->entry_count = 0;
    const int done = scan(on, message, from, size, depth);
    return done == DONE ? emit_parts(on, message, 0, depth) : done;
}
