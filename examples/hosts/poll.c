/* fleet in the host: ./host SCRIPT.lua, which has tick() called every 10 ms until `finished`. cc host.c
 * $(pkg-config --cflags --libs fleet-lua5.4) */
#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "fleet.h"

static int failed(lua_State *L) {
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  return 1;
}

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "fleet.core", luaopen_fleet_core, 0);
  if (argc != 2 || luaL_dofile(L, argv[1]) ||
      luaL_dostring(L, "local loop = require('fleet').loop return loop.fd(), loop.step"))
    return failed(L);
  struct pollfd ready = {.fd = (int)lua_tointeger(L, -2), .events = POLLIN};
  lua_setglobal(L, "step");
  for (long next = now_ms() + 10; !lua_getglobal(L, "finished"); lua_settop(L, 0)) {
    long left = next - now_ms();
    if (left > 0) poll(&ready, 1, (int)left);
    lua_getglobal(L, left > 0 ? "step" : "tick");
    if (left <= 0) next += 10;
    if (lua_pcall(L, 0, 0, 0)) return failed(L);
  }
  lua_close(L);
  return 0;
}
