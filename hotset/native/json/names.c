/* Names of fields, told apart with few looks at their bytes. See names.h.
 *
 * Keys of records come from strangers and names from a table, so that a table of names is only as crowded
 * as the table's owner made it. This file must not know records.
 */
#include "names.h"

json_name json_name_of(const uint8_t *bytes, int32_t size) {
    json_name name = {bytes, size, 0, 0};
    if (size >= 8) {
        name.first = json_eight(bytes);
        name.last = json_eight(bytes + size - 8);
        return name;
    }
    for (int32_t i = 0; i < size; i++) {
        name.first |= (uint64_t)bytes[i] << (8 * i);
    }
    return name;
}

static uint32_t hash_of(const json_name *name) {
    uint64_t mixed = (name->first ^ (uint64_t)name->size) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29 ^ name->last) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(mixed >> 32);
}

int64_t json_slot_count(int64_t names) {
    int64_t count = 4;
    while (count < names * 2) {
        count *= 2;
    }
    return count;
}

void json_fill_slots(const json_program *program, json_node *node) {
    for (int32_t i = 0; i < node->count; i++) {
        int32_t child = node->first + i;
        uint32_t slot = hash_of(&program->nodes[child].name) & node->mask;
        while (node->slots[slot] != 0) {
            slot = (slot + 1) & node->mask;
        }
        node->slots[slot] = child + 1;
    }
}

int32_t json_child_named(const json_program *program, const json_node *node, const json_name *name) {
    /* At least half of the slots are free, so this ends. */
    for (uint32_t slot = hash_of(name) & node->mask; node->slots[slot] != 0; slot = (slot + 1) & node->mask) {
        int32_t child = node->slots[slot] - 1;
        if (json_same_name(&program->nodes[child].name, name)) {
            return child;
        }
    }
    return -1;
}

void json_keep_unknown(json_unknowns *unknowns, int32_t place, const json_name *name) {
    /* At most a quarter of the slots is taken, so this ends. */
    uint32_t slot = hash_of(name) + (uint32_t)place;
    for (;; slot++) {
        uint8_t kept = unknowns->slots[slot % JSON_UNKNOWN_SLOTS];
        if (kept == 0) {
            break;
        }
        if (unknowns->found[kept - 1].place == place && json_same_name(&unknowns->found[kept - 1].name, name)) {
            return;
        }
    }
    if (unknowns->count < JSON_MOST_UNKNOWN) {
        unknowns->found[unknowns->count++] = (json_unknown){place, *name};
        unknowns->slots[slot % JSON_UNKNOWN_SLOTS] = (uint8_t)unknowns->count;
    }
}

void json_forget_unknown(json_unknowns *unknowns, int32_t count) {
    if (unknowns->count == count) {
        return;
    }
    json_unknown first[JSON_MOST_UNKNOWN];
    memcpy(first, unknowns->found, (size_t)count * sizeof(*first));
    memset(unknowns, 0, sizeof(*unknowns));
    for (int32_t i = 0; i < count; i++) {
        json_keep_unknown(unknowns, first[i].place, &first[i].name);
    }
}
