/* Whether a map holds a key twice. */
#ifndef KAFKAICEBERG_AVRO_KEYS_H
#define KAFKAICEBERG_AVRO_KEYS_H

#include "builders.h"

/* Looks at the keys from `first` on. Returns CODE_NONE, CODE_KEY_TWICE or CODE_NO_MEMORY. */
int avro_check_keys(const avro_builder *keys, int64_t first);

#endif
