#include "bind/crypto/context.h"
#include "bind/lua/bind.h"

#include "oauth/oauth.h"

/* core.oauth_challenge(verifier) -> the S256 challenge of RFC 7636 */
static int l_challenge(lua_State *L) {
  struct err e = ERR_INIT;
  struct bytes verifier = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  struct buf *text = push_scratch(L);
  if (!c || !oauth_challenge(c, text, verifier, &e)) return push_failure(L, &e);
  push_buf(L, text);
  return 1;
}

/* ---- forms ---- */

enum { FORM_LIMIT = 32 };

static struct bytes member(lua_State *L, int table, int index) {
  lua_rawgeti(L, table, index);
  return lua_isnil(L, -1) ? (struct bytes){NULL, 0} : check_bytes(L, -1);
}

/* core.oauth_form{ { name, value }, ... } -> "name=value&..."; a pair without value is left out */
static int l_form(lua_State *L) {
  struct oauth_pair pairs[FORM_LIMIT];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Unsigned count = lua_rawlen(L, 1);
  luaL_argcheck(L, count <= FORM_LIMIT, 1, "too many fields");
  luaL_checkstack(L, 3 * FORM_LIMIT + 4,
                  "form"); /* names and values stay on the stack while they are views */
  for (int i = 0; i < (int)count; i++) {
    lua_rawgeti(L, 1, i + 1);
    luaL_argcheck(L, lua_istable(L, -1), 1, "a list of pairs expected");
    int pair = lua_gettop(L);
    pairs[i].name = (const char *)member(L, pair, 1).data;
    pairs[i].value = member(L, pair, 2);
    luaL_argcheck(L, pairs[i].name, 1, "a field without name");
  }
  struct buf *text = push_scratch(L);
  oauth_form(text, pairs, (size_t)count);
  push_buf(L, text);
  return 1;
}

/* core.oauth_field(query, name) -> value, or nil when it is absent; nil, err, "protocol" when it stands there
 * twice */
static int l_field(lua_State *L) {
  struct err e = ERR_INIT;
  struct bytes query = check_bytes(L, 1);
  const char *name = luaL_checkstring(L, 2);
  struct buf *value = push_scratch(L);
  bool found = oauth_field(query, name, value, &e);
  if (e.kind) return push_failure(L, &e);
  if (found)
    push_buf(L, value);
  else
    lua_pushnil(L);
  return 1;
}

/* ---- tokens ---- */

/* core.oauth_claims(token) -> the claims of a JSON Web Token as JSON text, unverified; nil when it is none */
static int l_claims(lua_State *L) {
  struct bytes token = check_bytes(L, 1);
  struct buf *json = push_scratch(L);
  if (!oauth_claims(json, token)) return lua_pushnil(L), 1;
  push_buf(L, json);
  return 1;
}

static bool flag(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static double number(lua_State *L, const char *name, double fallback) {
  lua_getfield(L, 1, name);
  double value = luaL_optnumber(L, -1, fallback);
  lua_pop(L, 1);
  return value;
}

/* core.oauth_choose{ access, refresh, rejected, expires_at, saved_at, wall, margin } -> "use", "refresh" or
 * "login" */
static int l_choose(lua_State *L) {
  static const char *const names[] = {"use", "refresh", "login"};
  luaL_checktype(L, 1, LUA_TTABLE);
  struct token_facts f = {.access = flag(L, "access"),
                          .refresh = flag(L, "refresh"),
                          .rejected = flag(L, "rejected"),
                          .expires_at = number(L, "expires_at", 0),
                          .saved_at = number(L, "saved_at", 0),
                          .wall = number(L, "wall", 0),
                          .margin = number(L, "margin", 60)};
  lua_pushstring(L, names[oauth_choose(&f)]);
  return 1;
}

void open_oauth(lua_State *L) {
  static const luaL_Reg functions[] = {{"oauth_challenge", l_challenge}, {"oauth_form", l_form},
                                       {"oauth_field", l_field},         {"oauth_claims", l_claims},
                                       {"oauth_choose", l_choose},       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
