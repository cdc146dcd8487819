/* HMAC-SHA256 (RFC 2104).
 *
 * A keyed context of OpenSSL takes a kilobyte. They live in a small cache, so that ten thousand idle sessions
 * hold thirty-two bytes of key each and not ten megabytes of contexts.
 */
#ifndef FLEET_CRYPTO_MAC_H
#define FLEET_CRYPTO_MAC_H

#include "crypto/context.h"

enum { MAC_SIZE = 32 };

/* Over head then body. owner names a keyed context to keep (crypto_owner gives names); 0 keeps none. */
uint64_t crypto_owner(struct crypto *c);
void crypto_forget(struct crypto *c, uint64_t owner); /* wipes the context kept for this owner */
bool crypto_hmac(struct crypto *c, uint64_t owner, const unsigned char key[MAC_SIZE], struct bytes head,
                 struct bytes body, unsigned char tag[MAC_SIZE]);
/* One HMAC-SHA256 with a key of any length. */
bool crypto_hmac_once(struct crypto *c, struct bytes key, struct bytes data, unsigned char tag[MAC_SIZE]);
/* Two, with one key. */
bool crypto_hmac_twice(struct crypto *c, struct bytes key, struct bytes one,
                       unsigned char tag_of_one[MAC_SIZE], struct bytes other,
                       unsigned char tag_of_other[MAC_SIZE]);

#endif
