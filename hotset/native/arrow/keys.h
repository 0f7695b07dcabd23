/* Whether a map holds a key twice. */
#ifndef KAFKAICEBERG_ARROW_KEYS_H
#define KAFKAICEBERG_ARROW_KEYS_H

#include "builders.h"

/* Looks at the keys from `first` on. Returns 1, 0 or ARROW_NO_MEMORY. */
int arrow_has_twins(const arrow_builder *keys, int64_t first);

#endif
