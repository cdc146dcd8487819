/* The answer of the token address: a pair, or an error and whether the code or refresh token that was sent is
 * still valid. Kinds and waits come from http/outcome.h; doc/protocol.md, token errors. */
#ifndef FLEET_OAUTH_REPLY_H
#define FLEET_OAUTH_REPLY_H

#include "base/buf.h"
#include "base/err.h"
#include "http/transfer.h"
#include "oauth/token.h"

enum token_end {
  TOKEN_ISSUED,
  TOKEN_REFUSED,    /* the code or refresh token is invalid */
  TOKEN_UNANSWERED, /* it may have been used: sending it once more is allowed */
  TOKEN_KEPT        /* it was not used and stays valid */
};

struct token_sent {
  struct bytes form;  /* its secrets are removed from e */
  struct bytes nonce; /* that an id_token must carry; data NULL: none was sent */
};

/* Fills access, refresh and scope of t, and the lifetime in seconds (0: not known). wall: UTC seconds. */
enum token_end reply_read(const struct http_response *r, const struct token_sent *sent, double wall,
                          struct token *t, double *lifetime, struct err *e);

/* The claims of a JSON Web Token, as JSON text, not verified. False when it has none. */
bool reply_claims(struct buf *json, struct bytes token);

#endif
