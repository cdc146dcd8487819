/* Detects hosts that preempt Lua code. HAProxy interrupts a coroutine at any instruction, after a configured
 * count, and runs another coroutine on the same tables. The loop's Lua code is not written for that: it is
 * consistent only at its own waits. HAProxy preempts by a count hook.
 */
#include "bind/http/interrupts.h"

enum { FEWEST_INSTRUCTIONS = 100000000 };

/* The global `core` with HAProxy's functions; without metamethods, which a host's globals may have. */
bool host_interrupts(lua_State *L) {
  bool found = false;
  int top = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_getfield(L, -1, "_G") == LUA_TTABLE) {
    lua_pushliteral(L, "core");
    if (lua_rawget(L, -2) == LUA_TTABLE) {
      lua_pushliteral(L, "register_task");
      found = lua_rawget(L, -2) == LUA_TFUNCTION;
    }
  }
  lua_settop(L, top);
  return found;
}

void refuse_interruptions(lua_State *L) {
  int instructions = lua_gethookcount(L);
  if (!(lua_gethookmask(L) & LUA_MASKCOUNT) || instructions >= FEWEST_INSTRUCTIONS) return;
  luaL_error(L,
             "HAProxy may interrupt this code after %d instructions, and another coroutine would find its "
             "tables half changed: put 'tune.lua.forced-yield 1000000000' into the section global of its "
             "configuration",
             instructions);
}
