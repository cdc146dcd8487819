/* probe_state() opens a second Lua state in this process: state:run(code) gives its result as text,
 * state:close(). What two states of one process do to each other can be seen from Lua no other way. */
#include "bind/lua/versions.h"

static lua_State **check_state(lua_State *L) {
  return luaL_checkudata(L, 1, "probe.state");
}

static void copy_path(lua_State *from, lua_State *to, const char *name) {
  lua_getglobal(from, "package");
  lua_getfield(from, -1, name);
  lua_getglobal(to, "package");
  lua_pushstring(to, lua_tostring(from, -1));
  lua_setfield(to, -2, name);
  lua_pop(to, 1);
  lua_pop(from, 2);
}

static int l_open(lua_State *L) {
  lua_State **other = lua_newuserdatauv(L, sizeof *other, 0);
  *other = NULL;
  luaL_setmetatable(L, "probe.state");
  *other = luaL_newstate();
  if (!*other) return luaL_error(L, "no memory for a state");
  luaL_openlibs(*other);
  copy_path(L, *other, "path");
  copy_path(L, *other, "cpath");
  return 1;
}

static int l_run(lua_State *L) {
  lua_State *other = *check_state(L);
  int bad = luaL_loadstring(other, luaL_checkstring(L, 2)) || lua_pcall(other, 0, 1, 0);
  lua_pushstring(L, luaL_tolstring(other, -1, NULL));
  lua_settop(other, 0);
  return bad ? lua_error(L) : 1;
}

static int l_close(lua_State *L) {
  lua_State **other = check_state(L);
  if (*other) lua_close(*other);
  *other = NULL;
  return 0;
}

__attribute__((visibility("default"))) int luaopen_probe_state(lua_State *L) {
  static const luaL_Reg methods[] = {{"run", l_run}, {"close", l_close}, {"__gc", l_close}, {NULL, NULL}};
  luaL_newmetatable(L, "probe.state");
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_open);
  return 1;
}
