#include "stream/timer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct timer {
  int fd;
};

static void release(void *object) {
  close(((struct timer *)object)->fd);
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
  lua_pushinteger(L, ((struct timer *)box_check(L, 1, &timer_type))->fd);
  return 1;
}

/* timer:set(seconds): fd() is readable after so many real seconds, and no longer for an earlier reason */
static int l_timer_set(lua_State *L) {
  const struct timer *t = box_check(L, 1, &timer_type);
  double seconds = luaL_checknumber(L, 2);
  luaL_argcheck(L, seconds >= 0 && seconds < 1e9, 2, "seconds, from 0");
  long nanoseconds = (long)((seconds - (double)(time_t)seconds) * 1e9);
  struct itimerspec when = {.it_value = {.tv_sec = (time_t)seconds, .tv_nsec = nanoseconds}};
  if (!when.it_value.tv_sec && !nanoseconds) when.it_value.tv_nsec = 1; /* 0 would stop it */
  timerfd_settime(t->fd, 0, &when, NULL);
  return 0;
}

/* timer() -> a timer that is not set | nil, err, kind */
static int l_timer(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct timer *t = box_new(L, &timer_type, sizeof *t, 0);
  t->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (t->fd < 0) {
    err_set(&e, KIND_network, "no timer: %s", strerror(errno));
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
