/* Texts without secrets, for Lua: secrets never leave in an error, a log event or raw text (rule R4). Which
 * they are says lua/fleet/call/failure.lua. */
#include "base/redact.h"
#include "bind/lua/bind.h"

/* core.redact(text, secrets) -> the text without the secrets of the list, and without what looks like a token
 */
static int l_redact(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = (size_t)luaL_len(L, 2);
  struct bytes *secrets = lua_newuserdatauv(L, (count + 1) * sizeof *secrets, 0);
  for (size_t i = 0; i < count; i++) {
    lua_geti(L, 2, (lua_Integer)i + 1); /* the list keeps the text */
    if (lua_type(L, -1) != LUA_TSTRING) return luaL_argerror(L, 2, "a list of texts expected");
    secrets[i] = check_bytes(L, -1);
    lua_pop(L, 1);
  }
  struct buf *out = push_scratch(L);
  redact(out, text, secrets, count);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

/* core.redact_err(err, secrets): the same with the texts of an err, in place */
static int l_redact_err(lua_State *L) {
  static const char *const texts[] = {"message", "reason", "raw"};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++, lua_settop(L, 2)) {
    lua_pushcfunction(L, l_redact);
    if (lua_getfield(L, 1, texts[i]) != LUA_TSTRING) continue;
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    lua_setfield(L, 1, texts[i]);
  }
  return 0;
}

void open_redact(lua_State *L) {
  static const luaL_Reg functions[] = {{"redact", l_redact}, {"redact_err", l_redact_err}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
