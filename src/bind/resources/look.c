/* What replies say of one question: where a vehicle stands, where it drives to, the value of a field, which
 * vehicles a list holds. */
#include "bind/lua/bind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DATA = 1 }; /* the reply of vehicle_data, a place on the stack */

/* ---- members ---- */

/* Pushes the member of the table at the index; nil where that is no table. */
static void push_member(lua_State *L, int table, struct bytes name) {
  table = lua_absindex(L, table);
  lua_pushlstring(L, (const char *)name.data, name.size);
  if (lua_istable(L, table)) {
    lua_gettable(L, table);
  } else {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
}

/* Pushes the member of a section of the data, or nil. */
static void push_field(lua_State *L, const char *section, const char *name) {
  push_member(L, DATA, bytes_of(section));
  push_member(L, -1, bytes_of(name));
  lua_remove(L, -2);
}

/* Sets the member of the table on top to the value of that type at the index; none of another type. */
static void set_value(lua_State *L, const char *name, int value, int type) {
  if (type != LUA_TNIL && lua_type(L, value) != type) return;
  lua_pushvalue(L, value);
  lua_setfield(L, -2, name);
}

/* ---- where it stands ---- */

/* The position is in one section or in the other, by firmware. */
static void push_position(lua_State *L, const char *name) {
  push_field(L, "drive_state", name);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  push_field(L, "location_data", name);
}

static void set_age(lua_State *L, int at, double wall) {
  if (lua_type(L, at) != LUA_TNUMBER) return;
  double age = wall - lua_tonumber(L, at);
  lua_pushnumber(L, age > 0 ? age : 0);
  lua_setfield(L, -2, "age");
}

/* core.car_place(data, wall) -> { lat =, lon =, heading =, at =, age = }, or nil: it was withheld */
static int l_place(lua_State *L) {
  enum { WALL = 2, LATITUDE = 3, LONGITUDE = 4, HEADING = 5, AT = 6 };
  double wall = luaL_checknumber(L, WALL);
  lua_settop(L, WALL);
  push_position(L, "latitude"), push_position(L, "longitude");
  push_position(L, "heading"), push_position(L, "gps_as_of");
  if (lua_type(L, LATITUDE) != LUA_TNUMBER || lua_type(L, LONGITUDE) != LUA_TNUMBER) return 0;
  lua_createtable(L, 0, 5);
  set_value(L, "lat", LATITUDE, LUA_TNUMBER), set_value(L, "lon", LONGITUDE, LUA_TNUMBER);
  set_value(L, "heading", HEADING, LUA_TNIL);
  set_value(L, "at", AT, LUA_TNUMBER), set_age(L, AT, wall);
  return 1;
}

static bool asked_for(lua_State *L, int params, const char *section) {
  bool asked = false;
  push_member(L, params, bytes_of("endpoints"));
  for (lua_Integer i = 1; !asked && lua_istable(L, -1) && lua_geti(L, -1, i) != LUA_TNIL; i++) {
    asked = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), section) == 0;
    lua_pop(L, 1);
  }
  return asked;
}

/* core.position_withheld(data, params) -> whether location was asked for and is not in the data */
static int l_withheld(lua_State *L) {
  lua_settop(L, 2);
  bool withheld = lua_istable(L, DATA) && asked_for(L, 2, "location_data");
  if (withheld) push_position(L, "latitude");
  lua_pushboolean(L, withheld && lua_isnil(L, -1));
  return 1;
}

/* ---- where it drives to ---- */

/* core.car_route(data) -> { destination =, minutes =, miles = }; destination is nil where there is no route
 */
static int l_route(lua_State *L) {
  enum { DESTINATION = 2, MINUTES = 3, MILES = 4 };
  lua_settop(L, DATA);
  push_field(L, "drive_state", "active_route_destination");
  push_field(L, "drive_state", "active_route_minutes_to_arrival");
  push_field(L, "drive_state", "active_route_miles_to_arrival");
  lua_createtable(L, 0, 3);
  set_value(L, "destination", DESTINATION, LUA_TSTRING);
  set_value(L, "minutes", MINUTES, LUA_TNIL), set_value(L, "miles", MILES, LUA_TNIL);
  return 1;
}

/* ---- any field ---- */

/* core.field(data, "charge_state.battery_level") -> its value, or nil */
static int l_field(lua_State *L) {
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 2);
  const char *path = lua_tostring(L, 2);
  lua_pushvalue(L, DATA);
  for (path += strspn(path, "."); *path; path += strspn(path, ".")) {
    size_t size = strcspn(path, ".");
    push_member(L, -1, (struct bytes){(const unsigned char *)path, size});
    lua_remove(L, -2);
    path += size;
  }
  return 1;
}

/* ---- the list of products ---- */

/* A longer one is more trouble to everybody than the records of those that are asked for. */
enum { LONGEST_LIST = 100 };

/* Puts the record on top of the stack into the table below it by its VIN and its id; whether it is a car's.
 */
static bool keep_record(lua_State *L) {
  int record = lua_gettop(L), vin = record + 1, id = record + 3;
  push_member(L, record, bytes_of("vin"));
  push_member(L, record, bytes_of("state"));
  push_member(L, record, bytes_of("id_s"));
  if (!lua_toboolean(L, vin) || !lua_toboolean(L, vin + 1)) return false;
  for (int key = vin; key <= id; key += id - vin) {
    if (lua_type(L, key) != LUA_TSTRING || !lua_rawlen(L, key)) continue;
    lua_pushvalue(L, key), lua_pushvalue(L, record);
    lua_settable(L, record - 1);
  }
  return true;
}

/* core.car_records(list) -> { [VIN or id] = record } of the cars among the products; empty for a list of too
 * many, and for what is no list */
static int l_records(lua_State *L) {
  enum { LIST = 1, RECORDS = 2 };
  lua_Integer count = 0;
  lua_settop(L, LIST);
  lua_newtable(L);
  for (lua_Integer i = 1; lua_istable(L, LIST) && lua_geti(L, LIST, i) != LUA_TNIL; i++) {
    count += keep_record(L);
    lua_settop(L, RECORDS);
  }
  lua_settop(L, RECORDS);
  if (count > LONGEST_LIST) lua_newtable(L);
  return 1;
}

/* ---- an address for the navigation ---- */

/* core.shared_address(address, wall) -> the parameters of navigation_request that share it */
static int l_shared_address(lua_State *L) {
  char time[32];
  luaL_checktype(L, 1, LUA_TSTRING);
  snprintf(time, sizeof time, "%.0f", floor(luaL_checknumber(L, 2) * 1000));
  lua_createtable(L, 0, 4);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 1), lua_setfield(L, -2, "android.intent.extra.TEXT");
  lua_setfield(L, -2, "value");
  lua_pushliteral(L, "share_ext_content_raw"), lua_setfield(L, -2, "type");
  lua_pushliteral(L, "en-US"), lua_setfield(L, -2, "locale");
  set_text(L, "timestamp_ms", time);
  return 1;
}

void open_look(lua_State *L) {
  static const luaL_Reg functions[] = {{"car_place", l_place},
                                       {"position_withheld", l_withheld},
                                       {"car_route", l_route},
                                       {"field", l_field},
                                       {"car_records", l_records},
                                       {"shared_address", l_shared_address},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
