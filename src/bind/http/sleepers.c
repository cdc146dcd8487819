/* Promises that a time wakes. The heap knows them by a key; they stand in a user value of the loop. What the
 * time is says Lua: a simulator's may run faster. */
#include "bind/http/loop.h"

/* loop:sleep(promise, at) */
int loop_l_sleep(lua_State *L) {
  struct loop *l = check_loop(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  double at = luaL_checknumber(L, 3);
  if (!timers_reserve(&l->sleepers)) return luaL_error(L, "out of memory");
  lua_getiuservalue(L, 1, LOOP_SLEEPERS);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, (lua_Integer)l->sleepers.pushed + 1); /* may raise: then nothing was pushed */
  timers_push(&l->sleepers, at);
  return 0;
}

static void pop(lua_State *L, struct loop *l, int table) {
  int64_t key = timers_first(&l->sleepers)->key;
  timers_pop(&l->sleepers);
  lua_pushnil(L);
  lua_rawseti(L, table, (lua_Integer)key);
}

/* The first that something else has not woken yet, its promise at the top; NULL and nothing pushed where all
 * have been. The others are forgotten. */
static const struct timer *push_first(lua_State *L, struct loop *l, int table) {
  const struct timer *first;
  while ((first = timers_first(&l->sleepers))) {
    lua_rawgeti(L, table, (lua_Integer)first->key);
    lua_getfield(L, -1, "done");
    bool done = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (!done) return first;
    lua_pop(L, 1);
    pop(L, l, table);
  }
  return NULL;
}

/* loop:next_at() -> when the next one is due, or nothing */
int loop_l_next_at(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_getiuservalue(L, 1, LOOP_SLEEPERS);
  const struct timer *first = push_first(L, l, lua_gettop(L));
  if (!first) return 0;
  lua_pushnumber(L, first->at);
  return 1;
}

/* loop:due(time) -> the promise that is due at that time, taken; or nothing */
int loop_l_due(lua_State *L) {
  struct loop *l = check_loop(L);
  double time = luaL_checknumber(L, 2);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, LOOP_SLEEPERS);
  const struct timer *first = push_first(L, l, 3);
  if (!first || first->at > time) return 0;
  pop(L, l, 3);
  return 1;
}
