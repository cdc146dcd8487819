/* What is counted with every request: a histogram is one addition and one comparison, and a line of the audit
 * is written where most of it is as it was before. */
#include "bind/lua/bind.h"

#include <math.h>
#include <string.h>

/* ---- histograms ---- */

enum { MOST_BUCKETS = 100000 };

struct bucket {
  double bound;    /* the last one has none */
  uint64_t inside; /* values for which it is the narrowest */
};

struct histogram {
  double sum;
  lua_Integer last, most; /* the last value's bucket, the one without bound */
  struct bucket buckets[];
};

/* put(value). Values that come one after the other are often alike: their bucket is looked for from the last
 * one's. */
static int l_put(lua_State *L) {
  struct histogram *h = lua_touserdata(L, lua_upvalueindex(1));
  double value = luaL_checknumber(L, 1);
  lua_Integer i = h->last;
  while (i > 0 && value <= h->buckets[i - 1].bound) i--;
  while (i < h->most && value > h->buckets[i].bound) i++;
  h->last = i;
  h->buckets[i].inside++;
  h->sum += value;
  return 0;
}

/* read() -> how many values, their sum, { how many in the first bucket, … } */
static int l_read(lua_State *L) {
  const struct histogram *h = lua_touserdata(L, lua_upvalueindex(1));
  uint64_t count = 0;
  lua_newtable(L);
  for (lua_Integer i = 0; i <= h->most; i++) {
    count += h->buckets[i].inside;
    lua_pushnumber(L, (lua_Number)h->buckets[i].inside);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushnumber(L, (lua_Number)count);
  lua_insert(L, -2);
  lua_pushnumber(L, h->sum);
  lua_insert(L, -2);
  return 3;
}

/* core.histogram(bounds) -> put, read. bounds: a list of numbers, each larger than the one before. */
static int l_histogram(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer most = luaL_len(L, 1);
  luaL_argcheck(L, most <= MOST_BUCKETS, 1, "too many buckets");
  size_t size = sizeof(struct histogram) + ((size_t)most + 1) * sizeof(struct bucket);
  struct histogram *h = lua_newuserdatauv(L, size, 0);
  memset(h, 0, size);
  h->most = most;
  for (lua_Integer i = 0; i < most; i++) {
    lua_rawgeti(L, 1, i + 1);
    h->buckets[i].bound = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_put, 1);
  lua_insert(L, -2);
  lua_pushcclosure(L, l_read, 1);
  return 2;
}

void open_figures(lua_State *L) {
  static const luaL_Reg functions[] = {{"histogram", l_histogram}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
