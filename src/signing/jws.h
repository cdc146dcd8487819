/* Compact JWS with the vehicles' own algorithm: Schnorr over P-256 with SHA-256. Wire protocol section 16.
 *
 * It is neither ECDSA nor BIP-340, so no JOSE library makes it. The nonce is that of RFC 6979: a signature
 * needs no random bytes, and the same claims give the same token.
 */
#ifndef FLEET_SIGNING_JWS_H
#define FLEET_SIGNING_JWS_H

#include "crypto/key.h"

enum { SCHNORR_SIZE = 96 };

/* header.claims.signature over claims, which are JSON text. */
bool jws_sign(const struct key *k, const char *algorithm, struct bytes claims, struct buf *token,
              struct err *e);

struct jws {          /* a token taken apart; nothing of it is checked yet */
  struct bytes input; /* what was signed: a view into the token */
  struct buf header, claims, signature;
};
bool jws_read(struct jws *t, struct bytes token, struct err *e); /* jws_free either way */
void jws_free(struct jws *t);
/* The caller must have seen the algorithm in the header first. */
bool jws_verify(struct crypto *c, const struct jws *t, struct bytes public, struct err *e);

bool schnorr_sign(const struct key *k, struct bytes message, unsigned char signature[SCHNORR_SIZE]);
bool schnorr_verify(struct crypto *c, struct bytes message, struct bytes public, struct bytes signature);
/* RFC 6979 section 3.2 with HMAC-SHA256 on P-256. */
bool schnorr_nonce(struct crypto *c, const unsigned char scalar[SCALAR_SIZE],
                   const unsigned char digest[HASH_SIZE], unsigned char nonce[SCALAR_SIZE]);

#endif
