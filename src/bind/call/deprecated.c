/* Commands that newer firmware takes differently: which vehicles may still be sent one. */
#include "base/firmware.h"
#include "bind/lua/bind.h"

#include "bind/call/params.h"

static const char *text_at(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
}

/* core.objection(row, version) -> why the command must not be sent to a vehicle with this firmware, or nil. A
 * version that is none is told, and is not older; version: nil or false where it is not known. */
static int l_objection(lua_State *L) {
  const struct row *row = row_at(L, 1);
  luaL_argcheck(L, row->until, 1, "a deprecated row expected");
  lua_settop(L, 2);
  const char *version = text_at(L, 2);
  if (firmware_known(version) && firmware_older(version, row->until)) return 0;
  if (lua_toboolean(L, 2))
    lua_pushfstring(L, "the vehicle has %s", luaL_tolstring(L, 2, NULL));
  else
    lua_pushliteral(L, "its firmware is not known here: call fleet_status first");
  lua_pushfstring(L, "from firmware %s on it adds a schedule with every call; %s. Use %s, or force = true",
                  row->until, lua_tostring(L, -1), row->replacement);
  return 1;
}

void open_deprecated(lua_State *L) {
  lua_pushcfunction(L, l_objection);
  lua_setfield(L, -2, "objection");
}
