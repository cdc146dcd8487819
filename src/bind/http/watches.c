/* Descriptors that a host's functions watch: each number belongs to the watch that took it last. */
#include "bind/http/loop.h"

#include <limits.h>

enum { LOOP = 1, FD, MODE, WATCH, BEFORE }; /* places on the stack */

static unsigned check_mode(lua_State *L) {
  struct bytes mode = {NULL, 0};
  if (lua_type(L, MODE) == LUA_TSTRING) mode = check_bytes(L, MODE);
  if (bytes_equal(mode, bytes_of("r"))) return POLLER_READ;
  if (bytes_equal(mode, bytes_of("w"))) return POLLER_WRITE;
  if (!bytes_equal(mode, bytes_of("rw"))) usage_error(L, "watch: mode must be \"r\", \"w\" or \"rw\"");
  return POLLER_READ | POLLER_WRITE;
}

/* A larger number would be that of another descriptor. */
static int check_descriptor(lua_State *L) {
  double fd = lua_type(L, FD) == LUA_TNUMBER ? lua_tonumber(L, FD) : 0.5;
  bool whole = fd >= INT_MIN && fd <= INT_MAX && fd == (double)(int)fd;
  if (!whole)
    usage_error(L, "watch: a descriptor (a whole number) is needed, got %s", luaL_tolstring(L, FD, NULL));
  return (int)fd;
}

/* loop:watch(fd, mode, watch) -> watch; nil, err, kind. mode: "r", "w" or "rw"; watch: a table with its fd
 * and the function fn. Raises for a wrong one. */
int loop_l_watch(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, WATCH);
  unsigned events = check_mode(L);
  luaL_checktype(L, WATCH, LUA_TTABLE);
  if (lua_getfield(L, WATCH, "fn") != LUA_TFUNCTION) usage_error(L, "watch: a function is needed");
  int fd = check_descriptor(L);
  struct loop *l = check_loop(L);
  lua_settop(L, WATCH);
  lua_getiuservalue(L, LOOP, LOOP_WATCHES);
  lua_rawgeti(L, BEFORE, fd);
  lua_pushvalue(L, WATCH);
  lua_rawseti(L, BEFORE, fd);
  if (poller_watch(&l->shared->poller, fd, events, WATCH_TAG, &e)) return lua_settop(L, WATCH), 1;
  lua_rawseti(L, BEFORE, fd);
  return push_failure(L, &e);
}

/* loop:unwatch(watch): its number may be another's by now. */
int loop_l_unwatch(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct loop *l = box_check(L, LOOP, &loop_type);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_getfield(L, 2, "fd") != LUA_TNUMBER) return 0;
  int fd = (int)lua_tonumber(L, 3);
  lua_pushnil(L);
  lua_setfield(L, 2, "fd");
  lua_getiuservalue(L, LOOP, LOOP_WATCHES);
  lua_rawgeti(L, -1, fd);
  if (!lua_rawequal(L, -1, 2)) return 0;
  lua_pushnil(L);
  lua_rawseti(L, -3, fd);
  if (!poller_forked(&l->shared->poller)) poller_watch(&l->shared->poller, fd, 0, WATCH_TAG, &e);
  return 0;
}

/* loop:ready() -> watch, "r"|"w"|"rw": the next of this step whose descriptor is ready, or nothing. */
int loop_l_ready(lua_State *L) {
  static const char *const names[] = {"rw", "r", "w", "rw", "rw", "r", "w", "rw"};
  struct loop *l = check_loop(L);
  lua_getiuservalue(L, LOOP, LOOP_WATCHES);
  while (l->next < l->count) {
    const struct poller_event *event = &l->events[l->next++];
    lua_rawgeti(L, -1, event->fd);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushstring(L, names[event->events & 7]);
    return 2;
  }
  return 0;
}
