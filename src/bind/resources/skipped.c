/* The vehicles that a telemetry configuration was not sent to, in either form in which the service says it.
 */
#include "bind/lua/bind.h"

#include "tables/rows.h"

#include <string.h>

enum { SKIPPED = 1, LIST = 2 }; /* places on the stack */

/* What to do about a reason, or NULL. */
static const char *advice_for(lua_State *L, int reason) {
  const char *text = lua_type(L, reason) == LUA_TSTRING ? lua_tostring(L, reason) : NULL;
  for (const struct reason *r = reason_rows; text && r->text; r++)
    if (strcmp(r->where, "telemetry") == 0 && strcmp(r->text, text) == 0) return r->doc;
  return NULL;
}

/* Appends { vin =, reason =, advice = } of two values on the stack. */
static void add(lua_State *L, int vin, int reason) {
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, vin);
  lua_setfield(L, -2, "vin");
  lua_pushvalue(L, reason);
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, advice_for(L, reason));
  lua_setfield(L, -2, "advice");
  lua_rawseti(L, LIST, (lua_Integer)lua_rawlen(L, LIST) + 1);
}

static void add_record(lua_State *L, int record) {
  lua_getfield(L, record, "vin");
  lua_getfield(L, record, "reason");
  add(L, record + 1, record + 2);
}

static void add_vins(lua_State *L, int reason, int vins) {
  for (lua_Integer i = 1; lua_geti(L, vins, i) != LUA_TNIL; i++) {
    add(L, vins + 1, reason);
    lua_settop(L, vins);
  }
}

/* core.skipped_vehicles(skipped) -> list of { vin =, reason =, advice = }. skipped: an object from reason to
 * VINs or from VIN to reason, or a list of { vin, reason } */
static int l_skipped(lua_State *L) {
  luaL_checktype(L, SKIPPED, LUA_TTABLE);
  lua_settop(L, SKIPPED);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, SKIPPED); lua_settop(L, LIST + 1)) {
    bool table = lua_istable(L, LIST + 2);
    if (table && lua_type(L, LIST + 1) == LUA_TNUMBER)
      add_record(L, LIST + 2);
    else if (table)
      add_vins(L, LIST + 1, LIST + 2);
    else
      add(L, LIST + 1, LIST + 2);
  }
  return 1;
}

void open_skipped(lua_State *L) {
  lua_pushcfunction(L, l_skipped);
  lua_setfield(L, -2, "skipped_vehicles");
}
