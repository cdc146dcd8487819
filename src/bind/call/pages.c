/* Walking over pages: how each kind of paging asks for one, and what a page brings that is new. */
#include "bind/lua/bind.h"

#include "bind/call/params.h"

#include <string.h>

/* How each kind of paging asks for a page. */
static const struct way {
  const char *number, *size;
  int first, usual;
  bool by_records; /* the number counts records */
} ways[] = {[PAGED_PAGE] = {"page", "per_page", 1, 100, false},
            [PAGED_PAGE_NO] = {"pageNo", "pageSize", 1, 50, false},
            [PAGED_OFFSET] = {"offset", "limit", 0, 50, true}};

/* Never more than the service gives at once: a page that is shorter than was asked for would look like the
 * last. */
static lua_Integer usual_size(const struct row *row, const struct way *way) {
  const struct param *q = param_named(row, way->size, strlen(way->size));
  bool bounded = q && (q->min != 0 || q->max != 0);
  return bounded && q->max < way->usual ? (lua_Integer)q->max : way->usual;
}

/* core.paging(row) -> { number =, size = the names of its parameters, first =, usual = the size, by_records =
 * } */
static int l_paging(lua_State *L) {
  const struct row *row = row_at(L, 1);
  luaL_argcheck(L, row->paging != PAGED_NO, 1, "a paged row expected");
  const struct way *way = &ways[row->paging];
  lua_createtable(L, 0, 5);
  lua_pushstring(L, way->number);
  lua_setfield(L, -2, "number");
  lua_pushstring(L, way->size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, way->first);
  lua_setfield(L, -2, "first");
  lua_pushinteger(L, usual_size(row, way));
  lua_setfield(L, -2, "usual");
  lua_pushboolean(L, way->by_records);
  lua_setfield(L, -2, "by_records");
  return 1;
}

/* Pushes what tells the record at the top apart from others, as its row says: an invitation is not its car.
 */
static void push_identity(lua_State *L, const struct row *row) {
  int record = lua_gettop(L), parts = 0;
  lua_pushliteral(L, "");
  for (const char *at = row->identity; at && *at; parts++) {
    size_t size = strcspn(at, " ");
    lua_pushstring(L, parts ? "\n" : "");
    lua_pushlstring(L, at, size);
    lua_gettable(L, record);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    lua_concat(L, 3);
    at += size + strspn(at + size, " ");
  }
}

/* core.new_records(row, records, seen) -> a list of those that were not seen before; seen, a table, then
 * holds them */
static int l_new_records(lua_State *L) {
  const struct row *row = row_at(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 3);
  lua_newtable(L);
  lua_Integer fresh = 0;
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TTABLE; i++) {
    push_identity(L, row);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, 3) == LUA_TNIL) lua_pushvalue(L, 5), lua_rawseti(L, 4, ++fresh);
    lua_settop(L, 6);
    lua_pushboolean(L, true);
    lua_rawset(L, 3);
    lua_settop(L, 4);
  }
  lua_settop(L, 4);
  return 1;
}

void open_pages(lua_State *L) {
  static const luaL_Reg functions[] = {{"paging", l_paging}, {"new_records", l_new_records}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
