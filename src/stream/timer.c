#include "stream/timer.h"

#include "base/poller.h"

static void release(void *object) {
  poller_close(object);
}

static int l_timer_close(lua_State *L);
static int l_timer_fd(lua_State *L);
static int l_timer_set(lua_State *L);

static const luaL_Reg methods[] = {
    {"close", l_timer_close}, {"fd", l_timer_fd}, {"set", l_timer_set}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__close", l_timer_close}, {NULL, NULL}};
static const struct box_type timer_type = {"fleet.stream.timer", release, methods, metamethods};

static int l_timer_close(lua_State *L) {
  if (!box_test(L, 1, &timer_type)) return luaL_typeerror(L, 1, timer_type.name);
  box_close(L, 1);
  return 0;
}

static int l_timer_fd(lua_State *L) {
  lua_pushinteger(L, ((struct poller *)box_check(L, 1, &timer_type))->fd);
  return 1;
}

/* timer:set(seconds): fd() is readable after so many real seconds, and no longer for an earlier reason */
static int l_timer_set(lua_State *L) {
  struct poller *p = box_check(L, 1, &timer_type);
  double seconds = luaL_checknumber(L, 2);
  luaL_argcheck(L, seconds >= 0 && seconds < 1e9, 2, "seconds, from 0");
  poller_disarm(p);
  poller_arm(p, seconds);
  return 0;
}

/* timer() -> a timer that is not set | nil, err, kind */
static int l_timer(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct poller *p = box_new(L, &timer_type, sizeof *p, 0);
  if (!poller_open(p, &e) || !poller_export(p, &e)) {
    poller_close(p);
    return push_failure(L, &e);
  }
  box_open(L, -1);
  return 1;
}

void open_stream_timer(lua_State *L) {
  box_define(L, &timer_type);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_timer);
  lua_setfield(L, -2, "timer");
}
