#include "oauth/grant.h"

#include "bind/lua/secret.h"
#include "bind/oauth/oauth.h"

/* The token's own, or with previous = true the one before it. */
static struct bytes refresh_member(lua_State *L) {
  struct bytes none = {NULL, 0};
  const struct token *t = token_member(L, 2, "token");
  lua_getfield(L, 2, "previous");
  const struct buf *chosen = t && lua_toboolean(L, -1) ? &t->previous : t ? &t->refresh : NULL;
  lua_pop(L, 1);
  return chosen && chosen->size ? buf_bytes(chosen) : none;
}

/* core.grant("code" | "refresh" | "partner" | "business", { client_id, client_secret, code, code_verifier,
 * redirect_uri, audience, scope, auth_code, token, previous }) -> the form as a fleet.secret */
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
  grant_form(form, kind, &g);
  return buf_ok(form) ? 1 : luaL_error(L, "out of memory");
}

void open_grant(lua_State *L) {
  static const luaL_Reg functions[] = {{"grant", l_grant}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
