/* Texts without secrets, for Lua. */
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

void open_redact(lua_State *L) {
  static const luaL_Reg functions[] = {{"redact", l_redact}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
