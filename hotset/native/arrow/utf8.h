/* Whether bytes are UTF-8, as strictly as the standard: no surrogates, nothing longer than need be. */
#ifndef KAFKAICEBERG_ARROW_UTF8_H
#define KAFKAICEBERG_ARROW_UTF8_H

#include <stdint.h>

int arrow_is_utf8(const uint8_t *text, int64_t size);

#endif
