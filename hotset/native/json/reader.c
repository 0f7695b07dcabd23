/* Reads records into builders, and takes only what is plainly right.
 *
 * Whatever is unusual, too deep or wrong is refused: its row is taken back from all builders, and the exact
 * decoder has to read it. Of two equal names the first counts: a child that is longer than its parent has
 * been filled for this row. The program is trusted, since check.c has looked at it; no record is.
 */
#include "reader.h"

#include <math.h>
#include <stdlib.h>

#include "../arrow/keys.h"
#include "../arrow/utf8.h"
#include "../arrow/uuids.h"
#include "cursor.h"
#include "numbers.h"
#include "text.h"
#include "times.h"

enum { SMALL = 32, LONGEST_KEY = 256 };

static int read_value(json_run *run, int32_t place);

static int is_done(json_run *run, int code) {
    if (code == ARROW_NO_MEMORY) {
        run->has_no_memory = 1;
    }
    return code == ARROW_DONE;
}

static inline int has_room(json_run *run, arrow_builder *builder) {
    return builder->length < builder->capacity || is_done(run, arrow_make_room(builder));
}

static inline int has_data_room(json_run *run, arrow_builder *builder, int64_t size) {
    return size <= builder->data_capacity - builder->data_length || is_done(run, arrow_make_data_room(builder, size));
}

/* Where a value of so many bytes goes; NULL if there is no room. */
static inline uint8_t *slot(json_run *run, arrow_builder *builder) {
    return has_room(run, builder) ? builder->values + builder->length++ * builder->shape->width : NULL;
}

static inline int put(json_run *run, arrow_builder *builder, const void *value, size_t size) {
    uint8_t *target = slot(run, builder);
    if (target == NULL) {
        return 0;
    }
    memcpy(target, value, size);
    return 1;
}

/* Moves into a text, behind its first quote. */
static inline int begin_text(json_run *run) {
    if (run->at == run->end || *run->at != '"') {
        return 0;
    }
    run->at++;
    return 1;
}

/* A text without escapes: where it is; the reader moves behind it. */
static inline int read_plain(json_run *run, const uint8_t **text, int64_t *size) {
    if (!begin_text(run)) {
        return 0;
    }
    const uint8_t *end = json_plain_end(run, run->at);
    if (end == NULL || *end != '"') {
        return 0;
    }
    *text = run->at;
    *size = end - run->at;
    run->at = end + 1;
    return 1;
}

static int read_escaped(json_run *run, arrow_builder *builder, const uint8_t *end) {
    int64_t size = end - run->at;
    if (!has_room(run, builder) || !has_data_room(run, builder, size)) {
        return 0;
    }
    size = json_unescape(run->at, end, builder->data + builder->data_length);
    if (size < 0) {
        return 0;
    }
    arrow_end_bytes(builder, size);
    run->at = end + 1;
    return 1;
}

static inline int read_string(json_run *run, arrow_builder *builder) {
    if (!begin_text(run)) {
        return 0;
    }
    const uint8_t *end = json_plain_end(run, run->at);
    if (end == NULL || *end != '"') {
        end = end == NULL ? NULL : json_text_end(run, end);
        return end != NULL && read_escaped(run, builder, end);
    }
    int64_t size = end - run->at;
    /* With room to spare a short text is copied as one long one, which is faster. */
    if (!has_room(run, builder) || !has_data_room(run, builder, size <= SMALL ? SMALL : size)) {
        return 0;
    }
    uint8_t *target = builder->data + builder->data_length;
    if (size <= SMALL && run->limit - run->at >= SMALL) {
        memcpy(target, run->at, SMALL);
    } else {
        memcpy(target, run->at, (size_t)size);
    }
    arrow_end_bytes(builder, size);
    run->at = end + 1;
    return 1;
}

static int read_boolean(json_run *run, arrow_builder *builder) {
    int is_true = json_word(run, "true", 4);
    return (is_true || json_word(run, "false", 5)) && is_done(run, arrow_append_bit(builder, is_true));
}

static inline int read_integer(json_run *run, arrow_builder *builder) {
    int64_t value;
    if (!json_read_whole(&run->at, run->end, &value)) {
        return 0;
    }
    if (builder->shape->width == 8) {
        return put(run, builder, &value, 8);
    }
    int32_t narrow = (int32_t)value;
    return narrow == value && put(run, builder, &narrow, 4);
}

static int put_floating(json_run *run, arrow_builder *builder, double value) {
    float narrow = (float)value;
    if (builder->shape->width == 8) {
        return put(run, builder, &value, 8);
    }
    return (!isinf(narrow) || isinf(value)) && put(run, builder, &narrow, 4);
}

static int read_floating(json_run *run, arrow_builder *builder) {
    json_number number;
    double value;
    if (json_read_number(run->at, run->end, 0, &number)) {
        run->at = number.end;
        return json_to_double(&number, &value) && put_floating(run, builder, value);
    }
    if (json_word(run, "NaN", 3)) {
        return put_floating(run, builder, (double)NAN);
    }
    if (json_word(run, "Infinity", 8)) {
        return put_floating(run, builder, HUGE_VAL);
    }
    return json_word(run, "-Infinity", 9) && put_floating(run, builder, -HUGE_VAL);
}

static int read_decimal(json_run *run, const json_node *node, arrow_builder *builder) {
    json_number number;
    uint8_t value[16];
    if (run->at < run->end && *run->at == '"') {
        const uint8_t *text;
        int64_t size;
        if (!read_plain(run, &text, &size) || !json_read_number(text, text + size, 1, &number) ||
            number.end != text + size) {
            return 0;
        }
    } else {
        if (!json_read_number(run->at, run->end, 0, &number)) {
            return 0;
        }
        run->at = number.end;
    }
    return json_to_decimal(&number, node->a, node->b, value) && put(run, builder, value, sizeof(value));
}

static int read_date(json_run *run, arrow_builder *builder) {
    const uint8_t *text;
    int64_t size;
    int32_t days;
    return read_plain(run, &text, &size) && json_read_date(text, size, &days) && put(run, builder, &days, 4);
}

static int read_time(json_run *run, arrow_builder *builder) {
    const uint8_t *text;
    int64_t size, micros;
    return read_plain(run, &text, &size) && json_read_time(text, size, &micros) && put(run, builder, &micros, 8);
}

/* How many of a column's units a number's unit is; 0 if no number is a timestamp. */
static int64_t units_of(const json_node *node) {
    static const int64_t micros[UNIT_COUNT] = {0, 1000000, 1000, 1};
    return micros[node->a / 2] * (node->b == 6 ? 1 : 1000);
}

static int read_timestamp(json_run *run, const json_node *node, arrow_builder *builder) {
    const uint8_t *text;
    int64_t size, found;
    if (run->at < run->end && *run->at == '"') {
        return read_plain(run, &text, &size) && json_read_timestamp(text, size, node->a % 2, node->b, &found) &&
               put(run, builder, &found, 8);
    }
    int64_t units = units_of(node);
    return units != 0 && json_read_whole(&run->at, run->end, &found) &&
           !__builtin_mul_overflow(found, units, &found) && put(run, builder, &found, 8);
}

static int read_fixed(json_run *run, arrow_builder *builder, const uint8_t *text, int64_t size) {
    uint8_t found[JSON_LARGEST_FIXED + 2]; /* base64 ends at threes */
    int64_t width = builder->shape->width;
    return size == (width + 2) / 3 * 4 && json_decode_base64(text, size, found) == width &&
           put(run, builder, found, (size_t)width);
}

static int read_binary(json_run *run, arrow_builder *builder) {
    const uint8_t *text;
    int64_t size;
    if (!read_plain(run, &text, &size)) {
        return 0;
    }
    if (builder->shape->kind == ARROW_FIXED) {
        return read_fixed(run, builder, text, size);
    }
    if (!has_room(run, builder) || !has_data_room(run, builder, size + 1)) {
        return 0;
    }
    size = json_decode_base64(text, size, builder->data + builder->data_length);
    if (size >= 0) {
        arrow_end_bytes(builder, size);
    }
    return size >= 0;
}

static int read_uuid(json_run *run, arrow_builder *builder) {
    const uint8_t *text;
    int64_t size;
    uint8_t found[ARROW_UUID_BYTES];
    return read_plain(run, &text, &size) && arrow_parse_uuid(text, size, found) &&
           put(run, builder, found, sizeof(found));
}

static void keep_unknown(json_run *run, const json_node *node, const json_name *name) {
    json_keep_unknown(run->unknowns, (int32_t)(node - run->program->nodes), name);
}

/* The child of a key with escapes; such keys are rare, and most are short. */
static int read_strange_key(json_run *run, const json_node *node, const uint8_t *end, int32_t *child) {
    uint8_t key[LONGEST_KEY];
    end = json_text_end(run, end);
    if (end == NULL || end - run->at > LONGEST_KEY) {
        return 0;
    }
    int64_t size = json_unescape(run->at, end, key);
    if (size < 0) {
        return 0;
    }
    json_name name = json_name_of(key, (int32_t)size);
    *child = json_child_named(run->program, node, &name);
    if (*child < 0) {
        json_name as_written = json_name_of(run->at, (int32_t)(end - run->at));
        keep_unknown(run, node, &as_written);
    }
    run->at = end + 1;
    return 1;
}

/* Reads a key and the colon behind it. The child is -1 if nobody asked for it. */
static inline int read_key(json_run *run, const json_node *node, int32_t guess, int32_t *child) {
    if (!begin_text(run)) {
        return 0;
    }
    const json_name *likely = guess < 0 ? NULL : &run->program->nodes[guess].name;
    if (likely != NULL && run->end - run->at > likely->size && run->at[likely->size] == '"' &&
        json_is_name(likely, run->at, run->limit)) {
        run->at += likely->size + 1;
        *child = guess;
    } else {
        const uint8_t *end = json_plain_end(run, run->at);
        if (end == NULL) {
            return 0;
        }
        if (*end == '"') {
            json_name name = json_name_of(run->at, (int32_t)(end - run->at));
            *child = json_child_named(run->program, node, &name);
            if (*child < 0) {
                keep_unknown(run, node, &name);
            }
            run->at = end + 1;
        } else if (!read_strange_key(run, node, end, child)) {
            return 0;
        }
    }
    if (!json_take(run, ':')) {
        return 0;
    }
    json_space(run);
    return 1;
}

/* Null, where it may be. */
static int read_null(json_run *run, int32_t place) {
    return json_word(run, "null", 4) && run->builders[place].shape->is_nullable &&
           is_done(run, arrow_append_null(run->builders, place));
}

/* Children that the object had no field for are null. */
static int fill_absent(json_run *run, const json_node *node, int64_t row) {
    for (int32_t child = node->first; child < node->first + node->count; child++) {
        if (run->builders[child].length > row) {
            continue;
        }
        if (!run->builders[child].shape->is_nullable || !is_done(run, arrow_append_null(run->builders, child))) {
            return 0;
        }
    }
    return 1;
}

static int read_fields(json_run *run, int32_t place, int64_t row, int32_t *filled) {
    const json_node *node = &run->program->nodes[place];
    int32_t *guess = &run->guesses[2 * place];
    do {
        int32_t child;
        json_space(run);
        if (!read_key(run, node, *guess, &child)) {
            return 0;
        }
        if (child >= 0) {
            /* Of two equal names the last counts, which is too late here. */
            if (run->builders[child].length != row || !read_value(run, child)) {
                return 0;
            }
            *guess = child;
            guess = &run->guesses[2 * child + 1];
            ++*filled;
        } else if (!json_skip(run)) {
            return 0;
        }
    } while (json_take(run, ','));
    return json_take(run, '}');
}

static int read_struct(json_run *run, int32_t place) {
    const json_node *node = &run->program->nodes[place];
    arrow_builder *builder = &run->builders[place];
    int64_t row = builder->length;
    int32_t filled = 0;
    if (!json_take(run, '{')) {
        return 0;
    }
    if (!json_take(run, '}') && (!read_fields(run, place, row, &filled) || (node->a && filled == 0))) {
        return 0;
    }
    if ((filled < node->count && !fill_absent(run, node, row)) || !has_room(run, builder)) {
        return 0;
    }
    builder->length = row + 1;
    return 1;
}

static int read_list(json_run *run, int32_t place) {
    int32_t items = run->program->nodes[place].first;
    if (!json_take(run, '[')) {
        return 0;
    }
    if (!json_take(run, ']')) {
        do {
            json_space(run);
            if (!read_value(run, items)) {
                return 0;
            }
        } while (json_take(run, ','));
        if (!json_take(run, ']')) {
            return 0;
        }
    }
    return is_done(run, arrow_append_list(run->builders, &run->builders[place]));
}

static int read_entry(json_run *run, int32_t place) {
    int32_t key = run->program->nodes[place].first;
    json_space(run);
    if (!read_string(run, &run->builders[key]) || !json_take(run, ':')) {
        return 0;
    }
    json_space(run);
    if (!read_value(run, key + 1) || !has_room(run, &run->builders[place])) {
        return 0;
    }
    run->builders[place].length++;
    return 1;
}

static int read_map(json_run *run, int32_t place) {
    int32_t entries = run->program->nodes[place].first;
    const arrow_builder *keys = &run->builders[run->program->nodes[entries].first];
    int64_t first = keys->length;
    if (!json_take(run, '{')) {
        return 0;
    }
    if (!json_take(run, '}')) {
        do {
            if (!read_entry(run, entries)) {
                return 0;
            }
        } while (json_take(run, ','));
        if (!json_take(run, '}')) {
            return 0;
        }
    }
    /* Of two equal keys the last counts, which is in the way here. */
    int twins = arrow_has_twins(keys, first);
    if (twins != 0) {
        return is_done(run, twins);
    }
    return is_done(run, arrow_append_list(run->builders, &run->builders[place]));
}

/* Reads what begins here, with no space before it. */
static int read_value(json_run *run, int32_t place) {
    const json_node *node = &run->program->nodes[place];
    arrow_builder *builder = &run->builders[place];
    if (run->at < run->end && *run->at == 'n') {
        return read_null(run, place);
    }
    switch (node->form) {
    case FORM_STRUCT:
        return read_struct(run, place);
    case FORM_LIST:
        return read_list(run, place);
    case FORM_MAP:
        return read_map(run, place);
    case FORM_BOOLEAN:
        return read_boolean(run, builder);
    case FORM_INTEGER:
        return read_integer(run, builder);
    case FORM_FLOATING:
        return read_floating(run, builder);
    case FORM_DECIMAL:
        return read_decimal(run, node, builder);
    case FORM_STRING:
        return read_string(run, builder);
    case FORM_DATE:
        return read_date(run, builder);
    case FORM_TIME:
        return read_time(run, builder);
    case FORM_TIMESTAMP:
        return read_timestamp(run, node, builder);
    case FORM_UUID:
        return read_uuid(run, builder);
    default:
        return read_binary(run, builder);
    }
}

static int is_ascii(const uint8_t *at, const uint8_t *end) {
    uint64_t seen = 0;
    for (; end - at >= 8; at += 8) {
        seen |= json_eight(at);
    }
    for (; at < end; at++) {
        seen |= *at;
    }
    return (seen & 0x8080808080808080u) == 0;
}

static int read_record(json_run *run) {
    if (!is_ascii(run->at, run->end) && !arrow_is_utf8(run->at, run->end - run->at)) {
        return 0;
    }
    return json_next(run) == '{' && read_struct(run, 0) && (json_space(run), run->at == run->end);
}

static int put_null_row(json_run *run) {
    const json_node *record = &run->program->nodes[0];
    for (int32_t i = 0; i < record->count; i++) {
        if (!is_done(run, arrow_append_null(run->builders, record->first + i))) {
            return 0;
        }
    }
    run->builders[0].length++;
    return 1;
}

static int read_all(json_run *run, const arrow_payloads *payloads, json_outcome *outcome) {
    for (int64_t row = 0; row < payloads->count; row++) {
        if (!arrow_find(payloads, row, &run->at, &run->end)) {
            return JSON_NO_RECORDS;
        }
        int is_absent = arrow_is_null(payloads, row);
        int32_t unknown = run->unknowns->count;
        if (!is_absent && read_record(run)) {
            continue;
        }
        if (!is_absent) {
            arrow_roll_back(run->builders, 0, row);
            json_forget_unknown(run->unknowns, unknown);
            outcome->refused[outcome->refused_count++] = row;
        }
        if (run->has_no_memory || !put_null_row(run)) {
            return JSON_NO_MEMORY;
        }
    }
    return JSON_READ;
}

int json_read_records(const json_program *program, const arrow_payloads *payloads, json_outcome *outcome) {
    json_run run = {
        .program = program,
        .builders = outcome->builders,
        .guesses = malloc(2 * (size_t)program->count * sizeof(int32_t)),
        .limit = payloads->data + payloads->size,
        .unknowns = &outcome->unknowns,
    };
    int is_ready = run.guesses != NULL && arrow_grow(&run.builders[0], payloads->count + 1) == ARROW_DONE;
    for (int32_t i = 0; is_ready && i < program->nodes[0].count; i++) {
        is_ready = arrow_grow(&run.builders[program->nodes[0].first + i], payloads->count + 1) == ARROW_DONE;
    }
    int outcome_code = JSON_NO_MEMORY;
    if (is_ready) {
        for (int32_t i = 0; i < 2 * program->count; i++) {
            run.guesses[i] = -1;
        }
        outcome_code = read_all(&run, payloads, outcome);
    }
    free(run.guesses);
    return outcome_code;
}
