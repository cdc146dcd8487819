/* Eight bytes of memory as a number. */
#ifndef FLEET_BASE_ENDIAN_H
#define FLEET_BASE_ENDIAN_H

#include <stdint.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FROM_LITTLE_ENDIAN(word) (word)
#else
#define FROM_LITTLE_ENDIAN(word) __builtin_bswap64(word)
#endif

#endif
