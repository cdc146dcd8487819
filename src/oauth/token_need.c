#include "oauth/token_need.h"

#include <string.h>

enum { REFUSED_FOR = 60 }; /* s: a refused token is not sent again before */

static bool not_sent(struct err *e, enum kind kind, const char *text) {
  err_set(e, kind, "%s", text);
  e->outcome = OUTCOME_NOT_SENT;
  return false;
}

static bool is_kind(const struct token_need *n, const char *kind) {
  return strcmp(n->kind, kind) == 0;
}

/* ---- an exchange ---- */

static bool has_secret_for(const struct token_need *n, struct err *e) {
  if (n->has_secret || is_kind(n, "user")) return true;
  err_set(e, KIND_unsupported, "an open-source app has no %s token: it needs a client_secret", n->kind);
  e->outcome = OUTCOME_NOT_SENT;
  return false;
}

static bool is_ready(const struct token_need *n, struct err *e) {
  if (n->given)
    return not_sent(e, KIND_unsupported,
                    "the token was given to fleet.new: the program that gave it refreshes it");
  return n->has_client_id || not_sent(e, KIND_auth, "no token: set client_id, and sign in");
}

bool token_exchangeable(const struct token_need *n, struct err *e) {
  return has_secret_for(n, e) && is_ready(n, e);
}

/* ---- nothing to use ---- */

/* The exchange uses up the code of a business's consent: the next token needs another code. */
static const char *what_to_do(const struct token_need *n) {
  return is_kind(n, "business")
             ? "a new auth_code is needed, from Tesla's page on which the business consents: pass it to "
               "business_login{ auth_code =, scopes = }, or to 'fleet business_login'"
             : "sign in with authorize_url and authorize, or 'fleet login'";
}

static bool nothing_to_use(const struct token_need *n, const char *why, struct err *e) {
  err_set(e, KIND_auth, "no token: the %s token of account '%s' %s: %s", n->kind, n->account,
          n->token ? why : "is absent", what_to_do(n));
  e->outcome = OUTCOME_NOT_SENT;
  return false;
}

bool token_has_refresh(const struct token_need *n, struct err *e) {
  if (!is_ready(n, e)) return false;
  if (n->token && n->token->refresh.size) return true;
  return nothing_to_use(n, "has no refresh token, which the scope offline_access gives", e);
}

/* ---- the plan ---- */

/* After a minute the server is asked again: it may have refused by mistake. */
static bool recently_refused(const struct token_need *n) {
  if (!n->refused || !n->token) return false;
  if (!bytes_equal_secret(buf_bytes(&n->refused->refresh), buf_bytes(&n->token->refresh))) return false;
  return n->now.mono - n->refused_at < REFUSED_FOR;
}

static bool may_exchange(const struct token_need *n, enum token_choice choice, struct err *e) {
  if (is_kind(n, "partner")) return has_secret_for(n, e);
  if (choice == TOKEN_LOGIN) {
    bool refused = n->rejected.data != NULL;
    return nothing_to_use(
        n, refused ? "was refused and cannot be refreshed" : "has expired and cannot be refreshed", e);
  }
  if (!recently_refused(n)) return true;
  err_reason(e, "login_required");
  return not_sent(e, KIND_auth, "no token: the refresh token was refused: sign in again");
}

enum token_choice token_plan(const struct token_need *n, struct err *e) {
  enum token_choice choice = n->token ? token_choose(n->token, &n->now, n->rejected) : TOKEN_LOGIN;
  if (choice == TOKEN_USE) return choice;
  return may_exchange(n, choice, e) && is_ready(n, e) ? TOKEN_REFRESH : TOKEN_LOGIN;
}
