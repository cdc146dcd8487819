/* fleet_status of any number of vehicles: the parts of the list that one request may carry, and one reply
 * from those of the parts. */
#include "bind/call/params.h"
#include "bind/lua/bind.h"

#include "tables/rows.h"

#include <string.h>

enum { ROW = 1, PARAMS = 2, VINS = 3 }; /* places on the stack */

enum { UNBOUNDED = 1 << 30 };

/* How many vehicles a request may name. */
static lua_Integer most_at_once(lua_State *L) {
  const struct row *row = row_at(L, ROW);
  for (const struct param *q = row->params; q && q->name; q++)
    if (strcmp(q->name, "vins") == 0 && q->max > 0) return (lua_Integer)q->max;
  return UNBOUNDED;
}

/* Pushes the list: the member 'vins', or the parameters themselves. */
static bool push_vins(lua_State *L) {
  if (!lua_istable(L, PARAMS)) return false;
  lua_getfield(L, PARAMS, "vins");
  if (lua_istable(L, VINS)) return true;
  lua_pop(L, 1);
  lua_rawgeti(L, PARAMS, 1);
  bool is_list = !lua_isnil(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, PARAMS);
  return is_list;
}

/* Sets what the parameters hold beside the list in the table on top of the stack. */
static void copy_others(lua_State *L) {
  int part = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, PARAMS); lua_settop(L, part + 1)) {
    if (lua_type(L, part + 1) == LUA_TNUMBER) continue;
    lua_pushvalue(L, part + 1), lua_insert(L, part + 2);
    lua_rawset(L, part);
  }
}

/* Pushes the same parameters with the vehicles from a place. */
static void push_part(lua_State *L, lua_Integer first, lua_Integer last) {
  lua_newtable(L);
  copy_others(L);
  lua_newtable(L);
  for (lua_Integer i = first; i <= last; i++) {
    lua_rawgeti(L, VINS, i);
    lua_rawseti(L, -2, i - first + 1);
  }
  lua_setfield(L, -2, "vins");
}

/* core.status_parts(row, params) -> the parameters of each request, and how many vehicles one may name; nil
 * where they hold no list */
static int l_parts(lua_State *L) {
  lua_Integer most = most_at_once(L), n = 0;
  lua_settop(L, PARAMS);
  if (!push_vins(L)) return 0;
  lua_Integer count = (lua_Integer)lua_rawlen(L, VINS);
  lua_newtable(L);
  for (lua_Integer first = 1; first == 1 || first <= count; first += most) {
    push_part(L, first, first + most - 1 < count ? first + most - 1 : count);
    lua_rawseti(L, -2, ++n);
  }
  lua_pushinteger(L, most);
  return 2;
}

/* Adds the elements and members of the table on top of the stack to the one below it, and pops both. */
static void join_member(lua_State *L) {
  int more = lua_gettop(L), into = more - 1;
  lua_Integer have = (lua_Integer)lua_rawlen(L, into), count = (lua_Integer)lua_rawlen(L, more);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, more, i);
    lua_rawseti(L, into, have + i);
  }
  for (lua_pushnil(L); lua_next(L, more); lua_settop(L, more + 1)) {
    if (lua_type(L, more + 1) == LUA_TNUMBER) continue;
    lua_pushvalue(L, more + 1), lua_insert(L, more + 2);
    lua_rawset(L, into);
  }
  lua_settop(L, into - 1);
}

/* core.joined_status(all, part) -> all, with what the reply of the next part holds; part, where all is nil */
static int l_joined(lua_State *L) {
  enum { ALL = 1, PART = 2, NAME = 3, VALUE = 4 };
  lua_settop(L, PART);
  if (!lua_istable(L, ALL) || !lua_istable(L, PART)) return 1;
  for (lua_pushnil(L); lua_next(L, PART); lua_settop(L, NAME)) {
    lua_pushvalue(L, NAME), lua_rawget(L, ALL);
    if (lua_istable(L, VALUE) && lua_istable(L, -1)) {
      lua_insert(L, VALUE);
      join_member(L);
      continue;
    }
    lua_pushvalue(L, NAME), lua_pushvalue(L, VALUE), lua_rawset(L, ALL);
  }
  lua_settop(L, ALL);
  return 1;
}

void open_fleet_status(lua_State *L) {
  static const luaL_Reg functions[] = {{"status_parts", l_parts}, {"joined_status", l_joined}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
