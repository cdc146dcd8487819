/* Whether a call uses the token at hand, an exchange gets a new one, or an error explains why neither is
 * possible: doc/protocol.md, token kinds. */
#ifndef FLEET_OAUTH_TOKEN_NEED_H
#define FLEET_OAUTH_TOKEN_NEED_H

#include "base/err.h"
#include "oauth/token.h"

struct token_need {
  const char *kind, *account; /* kind: "user", "partner" or "business" */
  bool has_client_id, has_secret;
  bool given;                          /* the option token of fleet.new: the caller refreshes it */
  const struct token *token, *refused; /* the newest; the one whose refresh token was refused. NULL: none */
  double refused_at;                   /* by the monotonic clock */
  struct bytes rejected;               /* the access token that was just answered with 401; data NULL: none */
  struct now now;
};

/* TOKEN_USE, TOKEN_REFRESH (for every kind of exchange), or TOKEN_LOGIN: e explains what to do. */
enum token_choice token_plan(const struct token_need *n, struct err *e);
/* Whether a token of this kind can be got without a refresh token. */
bool token_exchangeable(const struct token_need *n, struct err *e);
/* Whether there is a refresh token and it can be exchanged. */
bool token_has_refresh(const struct token_need *n, struct err *e);

#endif
