#include "bind/store/counters.h"

struct counter *check_amounts(lua_State *L, int index, size_t *count) {
  struct err e;
  err_clear(&e);
  struct bytes text = check_bytes(L, index);
  size_t lines = 0;
  for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
  struct counter *list = lua_newuserdatauv(L, (lines + 1) * sizeof *list, 0);
  if (!counters_read(text, list, count, &e)) luaL_argerror(L, index, e.message);
  return list;
}

/* core.counters_add(text, amounts) -> text, totals of these names, of all where amounts is ""; nil, err,
 * "store". For stores that keep text and compare. */
static int l_counters_add(lua_State *L) {
  struct err e;
  err_clear(&e);
  size_t count;
  struct bytes text = check_bytes(L, 1);
  struct counter *list = check_amounts(L, 2, &count);
  struct buf *out = push_scratch(L), *totals = push_scratch(L);
  if (!counters_add(out, text, list, count, &e)) return push_failure(L, &e);
  counters_write(totals, list, count);
  push_buf(L, out);
  push_buf(L, count ? totals : out);
  return 2;
}

void open_counters(lua_State *L) {
  lua_pushcfunction(L, l_counters_add);
  lua_setfield(L, -2, "counters_add");
}
