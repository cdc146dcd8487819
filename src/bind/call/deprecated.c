/* Commands that not every firmware takes, or takes in the same way: which vehicles may be sent one. */
#include "base/firmware.h"
#include "bind/lua/bind.h"

#include "bind/call/params.h"

static const char *text_at(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
}

/* core.objection(row, version) -> why the command must not be sent to a vehicle with this firmware, or nil. A
 * version that is none is reported, and is not older; version: nil or false where it is not known. */
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

/* core.firmware_need(row, version) -> which firmware the command needs, and whether the vehicle's is too old
 * for certain; nil where the row needs none, or this one will do. version: as for objection */
static int l_firmware_need(lua_State *L) {
  const struct row *row = row_at(L, 1);
  lua_settop(L, 2);
  const char *version = text_at(L, 2);
  bool known = firmware_known(version);
  if (!row->since || (known && !firmware_older(version, row->since))) return 0;
  if (known)
    lua_pushfstring(L, "it needs firmware %s; this vehicle has %s", row->since, version);
  else
    lua_pushfstring(L, "it needs firmware %s", row->since);
  lua_pushboolean(L, known);
  return 2;
}

void open_deprecated(lua_State *L) {
  lua_pushcfunction(L, l_objection);
  lua_setfield(L, -2, "objection");
  lua_pushcfunction(L, l_firmware_need);
  lua_setfield(L, -2, "firmware_need");
}
