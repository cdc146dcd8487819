#include "bind/lua/json.h"
#include "bind/lua/value.h"

void json_encode(lua_State *L, int index, struct buf *out, const char *lists) {
  struct json_refusal why;
  index = lua_absindex(L, index);
  struct arena *a = push_arena(L);
  if (!json_write(value_at(L, index, a), lists, out, &why)) {
    lua_pushlstring(L, (const char *)why.what.data, why.what.size);
    lua_pushlstring(L, (const char *)why.name.data, why.name.size);
    usage_error(L, "%s cannot be written as JSON (in '%s')", lua_tostring(L, -2), lua_tostring(L, -1));
  }
  box_close(L, -1);
  lua_pop(L, 1);
}

static int l_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  const char *lists = luaL_optstring(L, 2, NULL);
  struct buf *out = push_scratch(L);
  json_encode(L, 1, out, lists);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

void open_json_write(lua_State *L) {
  lua_pushcfunction(L, l_json_encode);
  lua_setfield(L, -2, "json_encode");
}
