#include "bind/call/rows.h"

#include <string.h>

/* handle: NULL for a row by its own name, else name is the method's. */
static const struct row *find(const struct row *rows, const char *name, const char *handle) {
  for (; rows->name; rows++) {
    bool found = handle ? strcmp(rows->method, name) == 0 && strcmp(rows->handle, handle) == 0
                        : strcmp(rows->name, name) == 0;
    if (found) return rows;
  }
  return NULL;
}

/* core.row_table(name) or core.row_table(method, handle) -> the row as a fresh table, as core.endpoints has
 * it; nil where there is none, as for a name that is no text */
static int l_row_table(lua_State *L) {
  const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
  const char *handle = luaL_optstring(L, 2, NULL);
  const struct row *row = find(endpoint_rows, name, handle);
  if (!row) row = find(command_rows, name, handle);
  if (!row) {
    lua_pushnil(L);
    return 1;
  }
  push_row(L, row);
  return 1;
}

void open_row_table(lua_State *L) {
  lua_pushcfunction(L, l_row_table);
  lua_setfield(L, -2, "row_table");
}
