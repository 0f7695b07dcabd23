/* Powers of ten as whole numbers. See powers.h. This file must not know what they are of. */
#include "powers.h"

static const uint64_t POWERS[] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

unsigned __int128 arrow_power_of_ten(int64_t exponent) {
    return exponent < 20 ? POWERS[exponent] : (unsigned __int128)POWERS[19] * POWERS[exponent - 19];
}
