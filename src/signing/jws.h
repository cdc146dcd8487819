/* Compact JWS with the vehicles' own algorithm: Schnorr over P-256 with SHA-256. RFC 7515 section 7.1
 *
 * No JOSE library knows the algorithm. The same claims give the same token.
 */
#ifndef FLEET_SIGNING_JWS_H
#define FLEET_SIGNING_JWS_H

#include "crypto/key.h"

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

#endif
