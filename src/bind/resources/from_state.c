/* Commands that always carry all of some parameters, where the caller may leave some of them out: which were,
 * and the same parameters with what the vehicle says in their place. */
#include "bind/call/params.h"
#include "bind/lua/bind.h"

#include "tables/rows.h"

enum { ROW = 1, PARAMS = 2, CURRENT = 3 }; /* places on the stack */

static const struct param *check_params(lua_State *L) {
  static const struct param none[] = {{0}};
  const struct row *row = row_at(L, ROW);
  return row->params ? row->params : none;
}

static bool is_given(lua_State *L, const struct param *q) {
  lua_getfield(L, PARAMS, q->name);
  bool given = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return given;
}

static void push_copy(lua_State *L, int table) {
  lua_newtable(L);
  int copy = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table);) {
    lua_pushvalue(L, -2), lua_insert(L, -2);
    lua_rawset(L, copy);
  }
}

/* core.left_out(row, params) -> the parameters with a good value for each that was left out; nil where none
 * was, and where all were: the command's own checks answer then */
static int l_left_out(lua_State *L) {
  bool given = false, missing = false;
  const struct param *q = check_params(L);
  lua_settop(L, PARAMS);
  if (!lua_istable(L, PARAMS)) return 0;
  push_copy(L, PARAMS);
  for (; q->name; q++) {
    if (!(q->flags & FROM_STATE)) continue;
    if (is_given(L, q)) {
      given = true;
      continue;
    }
    missing = true;
    lua_pushnumber(L, q->min);
    lua_setfield(L, -2, q->name);
  }
  return given && missing;
}

/* core.completed(row, params, current) -> the parameters with what was left out as it is now; nil and the
 * name of the first that the vehicle does not say */
static int l_completed(lua_State *L) {
  const struct param *q = check_params(L);
  luaL_checktype(L, PARAMS, LUA_TTABLE);
  luaL_checktype(L, CURRENT, LUA_TTABLE);
  lua_settop(L, CURRENT);
  push_copy(L, PARAMS);
  for (; q->name; q++) {
    if (!(q->flags & FROM_STATE) || is_given(L, q)) continue;
    lua_getfield(L, CURRENT, q->name);
    if (lua_type(L, -1) != LUA_TNUMBER) {
      lua_pushnil(L), lua_pushstring(L, q->name);
      return 2;
    }
    lua_setfield(L, -2, q->name);
  }
  return 1;
}

void open_from_state(lua_State *L) {
  static const luaL_Reg functions[] = {{"left_out", l_left_out}, {"completed", l_completed}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
