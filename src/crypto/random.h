/* The one source of random bytes, safe across fork. */
#ifndef FLEET_CRYPTO_RANDOM_H
#define FLEET_CRYPTO_RANDOM_H

#include "crypto/context.h"

bool crypto_random(struct crypto *c, void *out, size_t size, struct err *e);
/* Appends base64url text of so many random bytes, at most 64: states, nonces and verifiers of OAuth. */
bool crypto_random_text(struct crypto *c, struct buf *out, size_t bytes, struct err *e);

#endif
