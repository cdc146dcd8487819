/* Whether the key is on a vehicle, and what the owner does when it is not (doc/protocol.md#pairing). */
#include "bind/lua/bind.h"

#include "bind/registration/line.h"

#include <string.h>

enum { VIN = 1, STATUS = 2, LINES = 3, FACTS = 4, INFO = 5 }; /* places on the stack */
enum { KEYS_MOST = 20 };                                      /* in a vehicle */

enum paired { PAIRED_UNKNOWN, PAIRED, UNPAIRED };

static bool member_is(lua_State *L, int table, const char *name, bool value) {
  lua_getfield(L, table, name);
  bool same = lua_isboolean(L, -1) && (bool)lua_toboolean(L, -1) == value;
  lua_pop(L, 1);
  return same;
}

/* Whether a text stands in the list; nothing stands in what is none. */
static bool list_has(lua_State *L, int list, const char *text) {
  bool found = false;
  for (lua_Integer i = 1; !found && lua_istable(L, list) && lua_geti(L, list, i) != LUA_TNIL; i++) {
    found = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), text) == 0;
    lua_pop(L, 1);
  }
  lua_settop(L, list);
  return found;
}

static bool member_has(lua_State *L, int table, const char *name, const char *text) {
  lua_getfield(L, table, name);
  bool found = list_has(L, lua_gettop(L), text);
  lua_pop(L, 1);
  return found;
}

/* Pushes what fleet_status says of the vehicle, a table. */
static enum paired push_info(lua_State *L) {
  const char *vin = lua_tostring(L, VIN);
  lua_getfield(L, STATUS, "vehicle_info");
  if (lua_istable(L, -1)) lua_getfield(L, -1, vin), lua_remove(L, -2);
  if (!lua_istable(L, -1)) lua_pop(L, 1), lua_newtable(L);
  if (member_has(L, STATUS, "key_paired_vins", vin)) return PAIRED;
  return member_has(L, STATUS, "unpaired_vins", vin) ? UNPAIRED : PAIRED_UNKNOWN;
}

/* registration.paired(vin, status) -> "paired", "unpaired" or nil, and the vehicle's record */
static int l_paired(lua_State *L) {
  static const char *const names[] = {NULL, "paired", "unpaired"};
  luaL_checkstring(L, VIN);
  luaL_checktype(L, STATUS, LUA_TTABLE);
  lua_settop(L, STATUS);
  lua_pushstring(L, names[push_info(L)]);
  lua_insert(L, -2);
  return 2;
}

/* ---- what to do ---- */

#define PAIRING_SCOPES "vehicle_device_data", "vehicle_cmds", "vehicle_location"

/* The pairing link does nothing before one of these was granted; which were is not always known. */
static bool may_pair(lua_State *L) {
  static const char *const scopes[] = {PAIRING_SCOPES};
  lua_getfield(L, FACTS, "scopes");
  int list = lua_gettop(L);
  bool may = !lua_istable(L, list) || lua_rawlen(L, list) == 0;
  for (size_t i = 0; !may && i < sizeof scopes / sizeof *scopes; i++) may = list_has(L, list, scopes[i]);
  lua_pop(L, 1);
  return may;
}

static const char *push_unpaired_fix(lua_State *L) {
  if (!may_pair(L))
    return "the owner must first grant one of vehicle_device_data, vehicle_cmds, vehicle_location, then open "
           "the pairing link";
  lua_getfield(L, INFO, "total_number_of_keys");
  if (lua_tonumber(L, -1) >= KEYS_MOST)
    return lua_pushfstring(L, "remove a key in the vehicle first: it holds %d, and no more fit",
                           (int)KEYS_MOST);
  lua_getfield(L, FACTS, "link");
  return lua_pushfstring(L, "the owner opens %s on the phone with the vendor's app, beside the vehicle",
                         lua_isstring(L, -1) ? lua_tostring(L, -1) : "the pairing link");
}

/* A wrong key is paired for the service, which compares with the registered one, and unknown to the vehicle.
 * Pushes the line that says so. */
static bool push_wrong(lua_State *L, struct line *out) {
  for (lua_Integer i = 1; lua_geti(L, LINES, i) != LUA_TNIL; i++) {
    int line = lua_gettop(L);
    if (!lua_istable(L, line)) continue;
    lua_getfield(L, line, "cause");
    const char *cause = lua_tostring(L, -1);
    if (cause && (strcmp(cause, "wrong_key") == 0 || strcmp(cause, "no_key") == 0)) {
      lua_getfield(L, line, "fix");
      out->cause = cause, out->fix = lua_tostring(L, -1);
      return true;
    }
    lua_settop(L, INFO);
  }
  return false;
}

static struct line line_of(lua_State *L, enum paired state, const char *name) {
  struct line wrong = {name, LINE_BAD,
                       .message = "the registered key is on this vehicle, but the key here is not it"};
  if (state != PAIRED && member_is(L, INFO, "vehicle_command_protocol_required", false))
    return (struct line){name, LINE_GOOD, .message = "takes plain commands: no key needed"};
  if (state == UNPAIRED)
    return (struct line){name, LINE_BAD, "not_accepted", "the key is not on this vehicle",
                         push_unpaired_fix(L)};
  if (state != PAIRED)
    return (struct line){name, LINE_UNKNOWN,
                         .message = "the service does not say whether the key is on this vehicle"};
  if (push_wrong(L, &wrong)) return wrong;
  return (struct line){name, LINE_GOOD, .message = "the key is on this vehicle"};
}

/* registration.pairing(vin, status, lines, facts) -> the line of one vehicle (line.h). status: of
 * fleet_status; lines: the findings about the key; facts: scopes = granted (list), link = the pairing address
 */
static int l_pairing(lua_State *L) {
  const char *vin = luaL_checkstring(L, VIN);
  for (int i = STATUS; i <= FACTS; i++) luaL_checktype(L, i, LUA_TTABLE);
  lua_settop(L, FACTS);
  enum paired state = push_info(L);
  const char *name = lua_pushfstring(L, "pairing %s", vin);
  lua_insert(L, VIN);
  lua_remove(L, VIN + 1); /* the name in its place */
  struct line line = line_of(L, state, name);
  line_push(L, &line);
  return 1;
}

void open_pairing(lua_State *L) {
  static const luaL_Reg functions[] = {{"paired", l_paired}, {"pairing", l_pairing}, {NULL, NULL}};
  lua_getfield(L, -1, "registration");
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 1);
}
