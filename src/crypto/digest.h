/* SHA-256 and, for the ids of keys only, SHA-1 (FIPS 180-4). */
#ifndef FLEET_CRYPTO_DIGEST_H
#define FLEET_CRYPTO_DIGEST_H

#include "crypto/context.h"

enum { HASH_SIZE = 32, SHA1_SIZE = 20 };

bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]);
bool crypto_sha1(struct crypto *c, struct bytes in, unsigned char out[SHA1_SIZE]);
bool crypto_sha1_alone(struct bytes in,
                       unsigned char out[SHA1_SIZE]); /* without a context: looks the digest up by name */

#endif
