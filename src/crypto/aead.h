/* AES-GCM (NIST SP 800-38D) with a key of 16 bytes (vehicles) or 32 bytes (sealed values of the store). */
#ifndef FLEET_CRYPTO_AEAD_H
#define FLEET_CRYPTO_AEAD_H

#include "crypto/context.h"

enum { AES128_SIZE = 16, AES256_SIZE = 32, NONCE_SIZE = 12, GCM_TAG_SIZE = 16 };

/* Sealing appends the ciphertext to out; opening appends the plain text only when the tag is right. False
 * too for a key, nonce or tag of another length. */
bool crypto_seal(struct crypto *c, struct bytes key, const unsigned char nonce[NONCE_SIZE], struct bytes aad,
                 struct bytes plain, struct buf *out, unsigned char tag[GCM_TAG_SIZE]);
bool crypto_unseal(struct crypto *c, struct bytes key, struct bytes nonce, struct bytes aad,
                   struct bytes cipher, struct bytes tag, struct buf *out);

#endif
