/* For C hosts that link the module into their program: use the static library (pkg-config --static
 * fleet-lua5.4), and register the core before the first require "fleet". Lua finds the Lua files by
 * package.path.
 *
 *   luaL_requiref(L, "fleet.core", luaopen_fleet_core, 0);
 *   lua_pop(L, 1);
 *
 * Lua 5.1 and LuaJIT have no luaL_requiref: put luaopen_fleet_core into package.preload["fleet.core"]. The
 * optional modules are shared objects. A host's loop watches one descriptor: fleet.loop.fd(), events(),
 * timeout() and step(); see the manual's page on hosts.
 */
#ifndef FLEET_H
#define FLEET_H

#include <lua.h>

#ifdef __cplusplus
extern "C" {
#endif

int luaopen_fleet_core(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
