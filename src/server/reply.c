#include "server/server.h"

#include <microhttpd.h>
#include <string.h>

/* ---- headers ---- */

static bool is_field_value(struct bytes value) {
  for (size_t i = 0; i < value.size; i++) {
    if ((value.data[i] < ' ' && value.data[i] != '\t') || value.data[i] == 127) return false;
  }
  return true;
}

static void check_header_value(lua_State *L, int index, const char *name) {
  if (lua_type(L, index) != LUA_TSTRING || !is_field_value(check_bytes(L, index)))
    luaL_error(L, "header '%s': a value is a string without control characters", name);
}

static void check_header(lua_State *L) { /* name at -2, value at -1 */
  if (lua_type(L, -2) != LUA_TSTRING || !is_token(check_bytes(L, -2)))
    luaL_error(L, "a header name is an HTTP token");
  const char *name = lua_tostring(L, -2);
  if (!lua_istable(L, -1)) return check_header_value(L, -1, name);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1))
    check_header_value(L, -1, name);
  lua_pop(L, 1);
}

void reply_headers_check(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) check_header(L);
}

/* Everything has been checked: nothing raises while the response is ours. */
void reply_headers_add(lua_State *L, int index, struct MHD_Response *r) {
  if (!lua_istable(L, index)) return;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *name = lua_tostring(L, -2);
    if (!lua_istable(L, -1)) {
      MHD_add_response_header(r, name, lua_tostring(L, -1));
      continue;
    }
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1))
      MHD_add_response_header(r, name, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}
