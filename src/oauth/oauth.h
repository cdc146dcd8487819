/* OAuth 2.0 without transport: addresses, forms, replies and the choice of a token. RFC 6749, 7636,
 * doc/protocol.md#tokens.
 *
 * Everything here is a pure function of its arguments.
 */
#ifndef FLEET_OAUTH_OAUTH_H
#define FLEET_OAUTH_OAUTH_H

#include "base/buf.h"
#include "base/err.h"
#include "crypto/context.h"

/* S256 of RFC 7636: base64url(SHA-256(verifier)). */
bool oauth_challenge(struct crypto *c, struct buf *out, struct bytes verifier, struct err *e);

struct oauth_pair { /* name and value of one form or query field; value.data NULL leaves it out */
  const char *name;
  struct bytes value;
};

void oauth_form(struct buf *out, const struct oauth_pair *pairs,
                size_t count); /* application/x-www-form-urlencoded */

/* One value of a query string or form ("a=b&c=d"), decoded; false when the name is absent. Refuses a name
 * given twice. */
bool oauth_field(struct bytes query, const char *name, struct buf *value, struct err *e);

/* A member of the claims of a JWT, as JSON text; a hint, not verified. False when the token has no readable
 * claims. */
bool oauth_claims(struct buf *json, struct bytes token);

/* What to do with a stored pair at this time. */
enum token_choice { TOKEN_USE, TOKEN_REFRESH, TOKEN_LOGIN };
struct token_facts {
  bool access, refresh; /* present */
  double expires_at;    /* wall seconds, 0: unknown */
  double saved_at;      /* wall seconds of writing */
  double wall;          /* now; a wall clock before saved_at says nothing: the token is tried */
  double margin;        /* refresh when less than this is left, 60 */
  bool rejected;        /* the service just answered 401 to this access token */
};
enum token_choice oauth_choose(const struct token_facts *f);

#endif
