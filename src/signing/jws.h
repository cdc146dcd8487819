/* Compact JWS (RFC 7515 section 7.1) with the vehicles' own algorithm: Schnorr over P-256 with SHA-256.
 *
 * No JOSE library knows the algorithm. The same claims give the same token.
 */
#ifndef FLEET_SIGNING_JWS_H
#define FLEET_SIGNING_JWS_H

#include "base/value.h"
#include "crypto/key.h"

bool jws_is_app(const char *app); /* a name of letters, digits, '_' and '-' */
/* Writes the claims, an object, as JSON. It adds the key as iss and the app's audience as aud: for one
 * vehicle, or for the fleet when vin is NULL. False with KIND_invalid for values that JSON cannot hold. */
bool jws_claims(struct arena *a, struct node *claims, const struct key *k, const char *vin, const char *app,
                struct buf *out, struct err *e);
/* header.claims.signature over claims, which are JSON text. */
bool jws_sign(const struct key *k, struct bytes claims, struct buf *token, struct err *e);

struct jws {          /* the parts of a token; nothing is checked yet */
  struct bytes input; /* what was signed: a view into the token */
  struct buf header, claims, signature;
};
bool jws_read(struct jws *t, struct bytes token, struct err *e); /* jws_free either way */
void jws_free(struct jws *t);
/* Whether the header names the vendor's algorithm. Check it first: a token may name one that needs no key. */
bool jws_has_algorithm(const struct jws *t, struct err *e);
bool jws_verify(struct crypto *c, const struct jws *t, struct bytes public, struct err *e);

#endif
