/* Schnorr signatures over P-256 with SHA-256, as the vehicles check them on telemetry configurations.
 *
 * This is neither ECDSA nor BIP-340. The nonce is that of RFC 6979: a signature needs no random bytes, and
 * the same message gives the same signature.
 */
#ifndef FLEET_CRYPTO_SCHNORR_H
#define FLEET_CRYPTO_SCHNORR_H

#include "crypto/digest.h"
#include "crypto/key.h"

enum { SCHNORR_SIZE = 96 }; /* X and Y of the point, then the response */

bool schnorr_sign(const struct key *k, struct bytes message, unsigned char signature[SCHNORR_SIZE]);
bool schnorr_verify(struct crypto *c, struct bytes message, struct bytes public, struct bytes signature);
/* RFC 6979 section 3.2 with HMAC-SHA256 on P-256. */
bool schnorr_nonce(struct crypto *c, const unsigned char scalar[SCALAR_SIZE],
                   const unsigned char digest[HASH_SIZE], unsigned char nonce[SCALAR_SIZE]);

#endif
