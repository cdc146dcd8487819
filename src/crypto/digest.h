/* SHA-256 (FIPS 180-4). */
#ifndef FLEET_CRYPTO_DIGEST_H
#define FLEET_CRYPTO_DIGEST_H

#include "crypto/context.h"

enum { HASH_SIZE = 32 };

bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]);

#endif
