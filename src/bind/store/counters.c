#include "bind/store/counters.h"

#include "bind/crypto/context.h"

#include <math.h>
#include <string.h>

/* Added in one call. */
enum { MOST = 256 };

/* ---- arguments ---- */

static int64_t check_amount(lua_State *L, int index) {
  lua_Number n = lua_tonumber(L, index);
  if (lua_type(L, index) != LUA_TNUMBER || floor(n) != n || fabs(n) > (double)COUNTER_LIMIT)
    luaL_error(L, "bad argument #2 to 'add': whole numbers expected");
  return (int64_t)n;
}

static struct bytes check_name(lua_State *L, int index) {
  bool text = lua_type(L, index) == LUA_TSTRING;
  struct bytes name = text ? check_bytes(L, index) : (struct bytes){NULL, 0};
  if (!counter_name_fits(name)) luaL_error(L, "bad argument #2 to 'add': names without spaces expected");
  return name;
}

static size_t count_amounts(lua_State *L, int index) {
  size_t count = 0;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) count++;
  luaL_argcheck(L, count <= MOST, index, "fewer counters at once expected");
  return count;
}

/* The names stay in the table at index. Room for as many as there are: each billed call adds two. */
struct counter *check_amounts(lua_State *L, int index, size_t *count) {
  struct counter *list = lua_newuserdatauv(L, count_amounts(L, index) * sizeof *list, 0);
  *count = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
    list[(*count)++] = (struct counter){check_name(L, -2), check_amount(L, -1), 0};
  return list;
}

/* ---- results ---- */

static void set_total(lua_State *L, const struct counter *c) {
  lua_pushlstring(L, (const char *)c->name.data, c->name.size);
  lua_pushinteger(L, (lua_Integer)c->total);
  lua_rawset(L, -3);
}

int push_totals(lua_State *L, const struct counter *list, size_t count) {
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) set_total(L, &list[i]);
  return 1;
}

/* ---- over texts: for stores that keep text and compare ---- */

/* core.counters_add(text, amounts) -> text, totals of these names; nil, err, "store" */
static int l_counters_add(lua_State *L) {
  struct err e;
  err_clear(&e);
  size_t count;
  struct bytes text = check_bytes(L, 1);
  struct counter *list = check_amounts(L, 2, &count);
  struct buf *out = push_scratch(L);
  if (!counters_add(out, text, list, count, &e)) return push_failure(L, &e);
  push_buf(L, out);
  push_totals(L, list, count);
  return 2;
}

int push_counters(lua_State *L, struct bytes text) {
  struct err e;
  err_clear(&e);
  struct counter c;
  lua_newtable(L);
  while (counters_next(&text, &c, &e)) set_total(L, &c);
  return e.kind == KIND_none ? 1 : push_failure(L, &e);
}

/* core.counters(text) -> totals by name; nil, err, "store" */
static int l_counters(lua_State *L) {
  return push_counters(L, check_bytes(L, 1));
}

void open_counters(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"counters_add", l_counters_add}, {"counters", l_counters}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
