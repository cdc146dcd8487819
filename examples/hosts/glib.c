/* fleet in the host: ./host SCRIPT.lua, which has tick() called every 10 ms until `finished`. cc host.c
 * $(pkg-config --cflags --libs fleet-lua5.4 glib-2.0) */
#include <glib-unix.h>
#include <lauxlib.h>
#include <lualib.h>

#include "fleet.h"

static GMainLoop *loop;

static gboolean call(lua_State *L, const char *name) {
  lua_getglobal(L, name);
  if (lua_pcall(L, 0, 0, 0)) g_error("%s", lua_tostring(L, -1));
  if (lua_getglobal(L, "finished")) g_main_loop_quit(loop);
  lua_settop(L, 0);
  return G_SOURCE_CONTINUE;
}

static gboolean ready(gint fd, GIOCondition condition, gpointer L) {
  (void)fd, (void)condition;
  return call(L, "step");
}

static gboolean tick(gpointer L) {
  return call(L, "tick");
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "fleet.core", luaopen_fleet_core, 0);
  if (argc != 2 || luaL_dofile(L, argv[1]) ||
      luaL_dostring(L, "local loop = require('fleet').loop step = loop.step return loop.fd()"))
    g_error("%s", lua_tostring(L, -1));
  g_unix_fd_add((gint)lua_tointeger(L, -1), G_IO_IN, ready, L);
  g_timeout_add(10, tick, L);
  loop = g_main_loop_new(NULL, FALSE);
  g_main_loop_run(loop);
  lua_close(L);
}
