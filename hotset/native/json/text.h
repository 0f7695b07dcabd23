/* What is inside of quotes: text with escapes, and base64. See text.c. */
#ifndef KAFKAICEBERG_JSON_TEXT_H
#define KAFKAICEBERG_JSON_TEXT_H

#include <stdint.h>

/* Text without its escapes, which are sound; it gets no longer. Below 0 if a surrogate is alone. */
int64_t json_unescape(const uint8_t *from, const uint8_t *end, uint8_t *into);

/* Bytes out of base64, three for each four at most. Below 0 for what is not plainly right. */
int64_t json_decode_base64(const uint8_t *from, int64_t size, uint8_t *into);

#endif
