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

/* ---- lines ---- */

enum { LONGEST_LINE = 1024, DIGITS = 20 };

struct line {
  char text[LONGEST_LINE + 2 * DIGITS + 2];
  size_t size;
};

static void add(struct line *l, struct bytes text) {
  memcpy(l->text + l->size, text.data, text.size);
  l->size += text.size;
}

static void add_whole(struct line *l, uint64_t value, int least) {
  char digits[DIGITS];
  int count = 0;
  for (; value || count < least; value /= 10) digits[DIGITS - ++count] = (char)('0' + value % 10);
  add(l, (struct bytes){(const unsigned char *)digits + DIGITS - count, (size_t)count});
}

/* A clock that was set back is no reason to write nothing. */
static uint64_t milliseconds(lua_State *L, int index) {
  double value = floor(luaL_checknumber(L, index) * 1000 + 0.5);
  return value >= 0 && value < 1e15 ? (uint64_t)value : 0;
}

/* core.timed_line(before, seconds, between, wall, after) -> text: the three texts, between them the whole
 * milliseconds that it took, and the moment in seconds with three decimals. */
static int l_timed_line(lua_State *L) {
  struct line l;
  struct bytes before = check_bytes(L, 1), between = check_bytes(L, 3), after = check_bytes(L, 5);
  uint64_t took = milliseconds(L, 2), moment = milliseconds(L, 4);
  luaL_argcheck(L, before.size + between.size + after.size <= LONGEST_LINE, 1, "too long");
  l.size = 0;
  add(&l, before);
  add_whole(&l, took, 1);
  add(&l, between);
  add_whole(&l, moment / 1000, 1);
  l.text[l.size++] = '.';
  add_whole(&l, moment % 1000, 3);
  add(&l, after);
  lua_pushlstring(L, l.text, l.size);
  return 1;
}

void open_figures(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"histogram", l_histogram}, {"timed_line", l_timed_line}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
