/* Decisions about tokens, from the options of fleet.new and a slot of lua/fleet/oauth/token_cache.lua. */
#include "oauth/token_need.h"

#include "bind/oauth/token.h"

enum { CONFIG = 1, SLOT, TOKEN, MONO, WALL, REJECTED }; /* places on the stack */

static bool has(lua_State *L, const char *name) {
  bool given = lua_getfield(L, CONFIG, name) != LUA_TNIL;
  lua_pop(L, 1);
  return given;
}

/* The text stays in the table at index. */
static const char *name_at(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  const char *text = luaL_checkstring(L, -1);
  lua_pop(L, 1);
  return text;
}

static struct token_need read_config(lua_State *L) {
  luaL_checktype(L, CONFIG, LUA_TTABLE);
  return (struct token_need){.account = name_at(L, CONFIG, "account"),
                             .has_client_id = has(L, "client_id"),
                             .has_secret = has(L, "client_secret"),
                             .given = has(L, "token")};
}

static struct token_need read_need(lua_State *L) {
  struct token_need n = read_config(L);
  luaL_checktype(L, SLOT, LUA_TTABLE);
  n.kind = name_at(L, SLOT, "kind");
  n.token = lua_toboolean(L, TOKEN) ? check_token(L, TOKEN) : NULL;
  n.refused = token_member(L, SLOT, "refused");
  n.refused_at = number_member(L, SLOT, "refused_at", 0);
  return n;
}

/* token_need.plan(config, slot, token or false, mono, wall, rejected access token or nil) -> "use" or
 * "exchange", and the seconds that are left, if known; nil, err, kind */
static int l_plan(lua_State *L) {
  struct err e;
  err_clear(&e);
  double left;
  lua_settop(L, REJECTED);
  struct token_need n = read_need(L);
  n.now = (struct now){luaL_checknumber(L, MONO), luaL_checknumber(L, WALL)};
  if (!lua_isnil(L, REJECTED)) n.rejected = check_bytes(L, REJECTED);
  enum token_choice choice = token_plan(&n, &e);
  if (choice == TOKEN_LOGIN) return push_failure(L, &e);
  lua_pushstring(L, choice == TOKEN_USE ? "use" : "exchange");
  if (!n.token || !token_left(n.token, &n.now, &left)) return 1;
  lua_pushnumber(L, left);
  return 2;
}

/* token_need.exchangeable(config, kind) -> true; nil, err, kind */
static int l_exchangeable(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct token_need n = read_config(L);
  n.kind = luaL_checkstring(L, 2);
  if (!token_exchangeable(&n, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* token_need.refreshable(config, slot, token or false) -> true; nil, err, kind */
static int l_refreshable(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, TOKEN);
  struct token_need n = read_need(L);
  if (!token_has_refresh(&n, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

void open_token_need(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"plan", l_plan}, {"exchangeable", l_exchangeable}, {"refreshable", l_refreshable}, {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "token_need");
}
