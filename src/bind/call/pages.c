/* Walking over pages: how each kind of paging asks for the next one, what a page brings that is new, and when
 * the walk is over. */
#include "bind/lua/bind.h"

#include "bind/call/params.h"

#include <stdio.h>
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

static const struct way *way_of(lua_State *L, const struct row *row) {
  luaL_argcheck(L, row->paging != PAGED_NO, 1, "a paged row expected");
  return &ways[row->paging];
}

static lua_Integer number_in(lua_State *L, int index, const char *name, lua_Integer usual) {
  if (!lua_istable(L, index)) return usual;
  lua_getfield(L, index, name);
  lua_Integer number = lua_isnil(L, -1) ? usual : luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return number;
}

static void set_in(lua_State *L, int index, const char *name, lua_Integer number) {
  lua_pushinteger(L, number);
  lua_setfield(L, index, name);
}

/* core.pages(row, params or nil) -> a walk: { number =, size = of the next page, asked =, received = records
 * so far and before it, seen = {}, over = } */
static int l_pages(lua_State *L) {
  const struct row *row = row_at(L, 1);
  const struct way *way = way_of(L, row);
  lua_Integer size = number_in(L, 2, way->size, usual_size(row, way));
  lua_settop(L, 2);
  lua_createtable(L, 0, 6);
  lua_Integer number = number_in(L, 2, way->number, way->first);
  size = number_in(L, 2, "page_size", size);
  set_in(L, 3, "number", number);
  set_in(L, 3, "size", size);
  set_in(L, 3, "received", way->by_records ? number : (number - way->first) * size);
  set_in(L, 3, "asked", 0);
  lua_newtable(L);
  lua_setfield(L, 3, "seen");
  return 1;
}

static bool is_over(lua_State *L, int walk) {
  lua_getfield(L, walk, "over");
  bool over = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return over;
}

/* core.next_page(row, walk) -> the query of the next page; nil at the end of the walk; nil, err, kind */
static int l_next_page(lua_State *L) {
  enum { MOST_PAGES = 1000 /* of a server that numbers what it invents */ };
  const struct row *row = row_at(L, 1);
  const struct way *way = way_of(L, row);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (is_over(L, 2)) return 0;
  lua_Integer asked = number_in(L, 2, "asked", 0);
  if (asked >= MOST_PAGES) {
    struct err e;
    err_clear(&e);
    err_set(&e, KIND_protocol, "%s: more than %d pages; if that is true, set a larger page_size", row->name,
            MOST_PAGES);
    return push_failure(L, &e);
  }
  set_in(L, 2, "asked", asked + 1);
  char query[96];
  snprintf(query, sizeof query, "%s=%lld&%s=%lld", way->number, (long long)number_in(L, 2, "number", 0),
           way->size, (long long)number_in(L, 2, "size", 0));
  lua_pushstring(L, query);
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

/* Pushes a list of those records that were not seen before, which then are. Returns how many. */
static lua_Integer push_new_records(lua_State *L, const struct row *row, int records, int seen) {
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_Integer fresh = 0;
  for (lua_Integer i = 1; lua_rawgeti(L, records, i) == LUA_TTABLE; i++) {
    push_identity(L, row);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, seen) == LUA_TNIL) lua_pushvalue(L, list + 1), lua_rawseti(L, list, ++fresh);
    lua_settop(L, list + 2);
    lua_pushboolean(L, true);
    lua_rawset(L, seen);
    lua_settop(L, list);
  }
  lua_settop(L, list);
  return fresh;
}

/* Whether the service says so, or a page that is shorter than was asked for: but not while it says that there
 * are more records, for it may give fewer at once. */
static bool is_last(lua_State *L, int page, bool is_short, lua_Integer received) {
  lua_getfield(L, page, "total");
  bool more = lua_tonumber(L, -1) > (lua_Number)received;
  if (lua_getfield(L, page, "pagination") == LUA_TNIL) return is_short && !more;
  bool numbered = lua_getfield(L, -1, "current") != LUA_TNIL;
  int next = lua_getfield(L, -2, "next");
  return numbered && (next == LUA_TNIL || (next == LUA_TSTRING && !lua_rawlen(L, -1)));
}

/* core.take_page(row, walk, { records =, length =, total =, pagination = }) -> a list of its records that are
 * new to the walk, or nil at its end */
static int l_take_page(lua_State *L) {
  enum { WALK = 2, PAGE, RECORDS, SEEN, FRESH };
  const struct row *row = row_at(L, 1);
  const struct way *way = way_of(L, row);
  luaL_checktype(L, WALK, LUA_TTABLE);
  luaL_checktype(L, PAGE, LUA_TTABLE);
  lua_settop(L, PAGE);
  lua_getfield(L, PAGE, "records");
  luaL_checktype(L, RECORDS, LUA_TTABLE);
  lua_getfield(L, WALK, "seen");
  luaL_checktype(L, SEEN, LUA_TTABLE);
  lua_Integer fresh = push_new_records(L, row, RECORDS, SEEN), size = number_in(L, WALK, "size", 0);
  lua_Integer length = number_in(L, PAGE, "length", 0), received = number_in(L, WALK, "received", 0) + length;
  bool last = is_last(L, PAGE, length < size, received);
  lua_pushboolean(L, last || fresh == 0);
  lua_setfield(L, WALK, "over");
  set_in(L, WALK, "received", received);
  lua_Integer step = !way->by_records ? 1 : length < size ? length : size;
  set_in(L, WALK, "number", number_in(L, WALK, "number", 0) + step);
  lua_settop(L, FRESH);
  return fresh > 0;
}

void open_pages(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"pages", l_pages}, {"next_page", l_next_page}, {"take_page", l_take_page}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
