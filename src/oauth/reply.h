/* What the token address answered: a pair, or what the failure says about the code or refresh token that was
 * sent. Kinds and waits come from the one table of outcomes; doc/protocol.md, token errors.
 */
#ifndef FLEET_OAUTH_REPLY_H
#define FLEET_OAUTH_REPLY_H

#include "base/buf.h"
#include "base/err.h"
#include "http/transfer.h"
#include "oauth/token.h"

enum token_end {
  TOKEN_ISSUED,
  TOKEN_REFUSED,    /* what was sent is no longer good */
  TOKEN_UNANSWERED, /* it may have been used: the same may be sent once more */
  TOKEN_KEPT        /* it is as good as before */
};

struct token_sent {
  struct bytes form;  /* its secrets are kept out of e */
  struct bytes nonce; /* that an id_token must carry; data NULL: none was sent */
};

/* Fills access, refresh and scope of t, and the lifetime in seconds (0: not known). wall: UTC seconds. */
enum token_end reply_read(const struct http_response *r, const struct token_sent *sent, double wall,
                          struct token *t, double *lifetime, struct err *e);

/* The claims of a JSON Web Token, as JSON text: hints, not verified. False when there are none to read. */
bool reply_claims(struct buf *json, struct bytes token);

#endif
