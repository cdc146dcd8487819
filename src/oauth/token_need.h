/* What a caller who needs a token gets: the one that is there, an exchange for a new one, or the sentence
 * that says why neither can be. doc/protocol.md, token kinds.
 */
#ifndef FLEET_OAUTH_TOKEN_NEED_H
#define FLEET_OAUTH_TOKEN_NEED_H

#include "base/err.h"
#include "oauth/token.h"

struct token_need {
  const char *kind, *account; /* kind: "user", "partner" or "business" */
  bool has_client_id, has_secret;
  bool given;                          /* to fleet.new; the caller refreshes it */
  const struct token *token, *refused; /* the newest; whose refresh token was refused last. NULL: none */
  double refused_at;                   /* by the monotonic clock */
  struct bytes rejected;               /* the access token that was just answered with 401; data NULL: none */
  struct now now;
};

/* TOKEN_USE; TOKEN_REFRESH for every exchange; or TOKEN_LOGIN: e says what to do. */
enum token_choice token_plan(const struct token_need *n, struct err *e);
/* Whether an exchange that brings a token of this kind without a refresh token is possible. */
bool token_exchangeable(const struct token_need *n, struct err *e);
/* Whether there is a refresh token and it can be exchanged. */
bool token_has_refresh(const struct token_need *n, struct err *e);

#endif
