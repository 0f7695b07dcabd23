/* Powers of ten, as far as decimals have digits. */
#ifndef KAFKAICEBERG_ARROW_POWERS_H
#define KAFKAICEBERG_ARROW_POWERS_H

#include <stdint.h>

/* The exponent is from 0 to 38. */
unsigned __int128 arrow_power_of_ten(int64_t exponent);

#endif
