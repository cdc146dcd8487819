/* A call by the name of its row: puts the named arguments into the positions of the row's method. */
#include "bind/lua/bind.h"

#include "bind/call/handles.h"
#include "bind/call/params.h"

enum { ARGS = 2, REST = 3, LIST = 4 }; /* places on the stack */

static int missing(lua_State *L, const struct row *row, const char *name) {
  return usage_error(L, "%s: '%s' is missing", row->name, name);
}

/* Pushes a copy of the arguments, or an empty table. */
static void push_rest(lua_State *L, const struct row *row) {
  bool given = !lua_isnil(L, ARGS);
  if (given && !lua_istable(L, ARGS)) usage_error(L, "%s: the arguments must be a table", row->name);
  lua_newtable(L);
  if (!given) return;
  for (lua_pushnil(L); lua_next(L, ARGS);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, REST);
  }
}

/* Pushes an argument that must be there, and takes it out of the rest. */
static void push_taken(lua_State *L, const struct row *row, const char *name) {
  if (lua_getfield(L, REST, name) == LUA_TNIL) missing(L, row, name);
  lua_pushnil(L);
  lua_setfield(L, REST, name);
}

static void take_positional(lua_State *L, const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++) {
    if (q->place != IN_PATH || handle_implies(row, q)) continue;
    push_taken(L, row, q->name);
    list_append(L, LIST);
  }
}

/* Pushes the id of the handle, or nil. */
static void push_handle_id(lua_State *L, const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (handle_implies(row, q)) return push_taken(L, row, q->name);
  lua_pushnil(L);
}

static bool takes_table(const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (q->place != IN_PATH && !handle_implies(row, q)) return true;
  return row->flags & ROW_BODY_AS_GIVEN;
}

/* core.arguments(row, args) -> the positional arguments of the row's method as a list, the table of the
 * others where it takes one, and the id of the handle where there is one. Raises for what is missing or
 * unknown */
static int l_arguments(lua_State *L) {
  const struct row *row = row_at(L, 1);
  lua_settop(L, ARGS);
  push_rest(L, row);
  lua_newtable(L);
  push_handle_id(L, row);
  take_positional(L, row);
  lua_pushvalue(L, LIST);
  if (takes_table(row)) {
    lua_pushvalue(L, REST);
  } else {
    lua_pushnil(L);
    if (lua_next(L, REST))
      usage_error(L, "%s: unknown parameter '%s': it takes none", row->name, luaL_tolstring(L, -2, NULL));
    lua_pushnil(L);
  }
  lua_pushvalue(L, LIST + 1);
  return 3;
}

void open_by_name(lua_State *L) {
  lua_pushcfunction(L, l_arguments);
  lua_setfield(L, -2, "arguments");
}
