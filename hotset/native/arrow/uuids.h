/* UUIDs as text and as their 16 bytes. See uuids.c. */
#ifndef KAFKAICEBERG_ARROW_UUIDS_H
#define KAFKAICEBERG_ARROW_UUIDS_H

#include <stdint.h>

enum { ARROW_UUID_BYTES = 16, ARROW_UUID_TEXT = 36 };

/* The bytes of a text in the canonical form, with letters of either case; 0 if it is none. */
int arrow_parse_uuid(const uint8_t *text, int64_t size, uint8_t *found);

void arrow_render_uuid(const uint8_t *bytes, uint8_t *text);

#endif
