#include "bind/store/held.h"

enum { VALUE = 1, GENERATION, ENDS, MAY_WAIT }; /* places in a record that is held back */

static double number_at(lua_State *L, int place) {
  lua_rawgeti(L, -1, place);
  double number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number;
}

/* The table keeps the value. */
static struct held read_held(lua_State *L) {
  lua_rawgeti(L, -1, VALUE);
  struct bytes value = check_bytes(L, -1);
  lua_pop(L, 1);
  lua_rawgeti(L, -1, MAY_WAIT);
  bool may_wait = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return (struct held){value, (uint64_t)number_at(L, GENERATION), number_at(L, ENDS), may_wait};
}

bool held_find(lua_State *L, struct held *h) {
  lua_getiuservalue(L, RECORDS, USER_HELD);
  lua_pushvalue(L, KEY);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (!lua_istable(L, -1)) return lua_pop(L, 1), false;
  *h = read_held(L);
  return true;
}

void held_keep(lua_State *L, struct records *r, int value, const struct held *h) {
  struct held before;
  value = lua_absindex(L, value);
  lua_createtable(L, MAY_WAIT, 0);
  lua_pushvalue(L, value);
  lua_rawseti(L, -2, VALUE);
  lua_pushinteger(L, (lua_Integer)h->generation);
  lua_rawseti(L, -2, GENERATION);
  lua_pushnumber(L, h->ends);
  lua_rawseti(L, -2, ENDS);
  lua_pushboolean(L, h->may_wait);
  lua_rawseti(L, -2, MAY_WAIT);
  bool replaces = held_find(L, &before);
  if (replaces) lua_pop(L, 1);
  lua_getiuservalue(L, RECORDS, USER_HELD);
  lua_pushvalue(L, KEY);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
  if (!replaces) r->held++;
}

void held_drop(lua_State *L, struct records *r) {
  lua_getiuservalue(L, RECORDS, USER_HELD);
  lua_pushvalue(L, KEY);
  lua_pushnil(L);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  r->held--;
}

size_t held_push_keys(lua_State *L, double most) {
  lua_Integer count = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_getiuservalue(L, RECORDS, USER_HELD);
  for (lua_pushnil(L); (double)count < most && lua_next(L, list + 1); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++count);
  }
  lua_settop(L, list);
  return (size_t)count;
}

uint64_t milliseconds_of(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds > (double)NUMBER_LIMIT / 1000 ? NUMBER_LIMIT : (uint64_t)(seconds * 1000);
}

enum store_result held_write(lua_State *L, struct records *r, double wall, struct err *e) {
  struct held h;
  uint64_t generation;
  if (!held_find(L, &h)) return STORE_DONE;
  struct put p = {.value = h.value,
                  .wall = milliseconds_of(wall),
                  .ends = milliseconds_of(h.ends),
                  .drawn = h.generation};
  enum store_result result = store_put(&r->store, check_bytes(L, KEY), &p, &generation, e);
  lua_pop(L, 1);
  if (result == STORE_DONE) held_drop(L, r);
  return result;
}
