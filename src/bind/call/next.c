#include "base/reason.h"
#include "bind/lua/bind.h"
#include "http/outcome.h"

/* ---- core.next(err kind, outcome, facts) -> "fail" | "refresh" | "region" | "repeat", pause in seconds ----
 */

static bool fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static int count(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int value = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return value;
}

static int l_next(lua_State *L) {
  static const char *const names[] = {"fail", "refresh", "region", "repeat"};
  struct verdict v = {.kind = kind_of(luaL_checkstring(L, 1)),
                      .outcome = outcome_of(luaL_optstring(L, 2, NULL))};
  luaL_checktype(L, 3, LUA_TTABLE);
  struct history h = {.write = fact(L, 3, "write"),
                      .idempotent = fact(L, 3, "idempotent"),
                      .own_token = fact(L, 3, "own_token"),
                      .other_host = fact(L, 3, "other_host"),
                      .refreshes = count(L, 3, "refreshes"),
                      .regions = count(L, 3, "regions"),
                      .repeats = count(L, 3, "repeats")};
  v.transient = fact(L, 3, "transient");
  lua_getfield(L, 3, "left");
  h.left = luaL_optnumber(L, -1, 0);
  lua_getfield(L, 3, "retry_after");
  v.retry_after = luaL_optnumber(L, -1, 0);
  double wait = 0;
  lua_pushstring(L, names[outcome_next(&v, &h, &wait)]);
  lua_pushnumber(L, wait);
  return 2;
}

/* core.reason(text) -> kind or nil for "already so", doc; nothing when no row knows it */
static int l_reason(lua_State *L) {
  const struct reason *r = reason_of(luaL_checkstring(L, 1));
  if (!r) return 0;
  if (r->kind)
    lua_pushstring(L, kind_name(r->kind));
  else
    lua_pushboolean(L, false);
  lua_pushstring(L, r->doc);
  return 2;
}

void open_next(lua_State *L) {
  static const luaL_Reg functions[] = {{"next", l_next}, {"reason", l_reason}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
