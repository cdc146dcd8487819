#include "oauth/grant.h"

#include "bind/lua/secret.h"
#include "bind/oauth/token.h"

/* The refresh token, or with previous = true the one before it. */
static struct bytes refresh_member(lua_State *L) {
  struct bytes none = {NULL, 0};
  const struct token *t = token_member(L, 2, "token");
  bool previous = flag_member(L, 2, "previous");
  const struct buf *chosen = !t ? NULL : previous ? &t->previous : &t->refresh;
  return chosen && chosen->size ? buf_bytes(chosen) : none;
}

static int nothing_to_refresh(lua_State *L) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_auth, "no token: there is nothing to refresh: sign in again");
  e.outcome = OUTCOME_NOT_SENT;
  return push_failure(L, &e);
}

/* core.grant("code" | "refresh" | "partner" | "business", { client_id, client_secret, code, code_verifier,
 * redirect_uri, audience, scope, auth_code, token, previous }) -> the form as a fleet.secret; nil, err, kind
 * if there is no refresh token */
static int l_grant(lua_State *L) {
  enum grant_kind kind = GRANT_CODE;
  luaL_argcheck(L, grant_kind_named(luaL_checkstring(L, 1), &kind), 1, "no kind of grant");
  luaL_checktype(L, 2, LUA_TTABLE);
  struct buf *form = push_secret(L);
  struct grant g = {
      .client_id = text_member(L, 2, "client_id"),
      .client_secret = text_member(L, 2, "client_secret"),
      .code = text_member(L, 2, "code"),
      .code_verifier = text_member(L, 2, "code_verifier"),
      .redirect_uri = text_member(L, 2, "redirect_uri"),
      .audience = text_member(L, 2, "audience"),
      .scope = text_member(L, 2, "scope"),
      .auth_code = text_member(L, 2, "auth_code"),
      .refresh_token = refresh_member(L),
  };
  if (kind == GRANT_REFRESH && !g.refresh_token.data) return nothing_to_refresh(L);
  grant_form(form, kind, &g);
  return buf_ok(form) ? 1 : luaL_error(L, "out of memory");
}

/* core.grant_serves(grant, token, mono, wall) -> whether the stored token makes the exchange unnecessary.
 * grant: always (it never does), replaces (the token whose refresh token would be exchanged), rejected (an
 * access token) */
static int l_grant_serves(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const struct token *t = check_token(L, 2), *replaces = token_member(L, 1, "replaces");
  struct now now = {luaL_checknumber(L, 3), luaL_checknumber(L, 4)};
  bool same = replaces && bytes_equal_secret(buf_bytes(&t->refresh), buf_bytes(&replaces->refresh));
  bool wanted = !flag_member(L, 1, "always") && !same;
  lua_pushboolean(L, wanted && token_choose(t, &now, text_member(L, 1, "rejected")) == TOKEN_USE);
  return 1;
}

void open_grant(lua_State *L) {
  static const luaL_Reg functions[] = {{"grant", l_grant}, {"grant_serves", l_grant_serves}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
