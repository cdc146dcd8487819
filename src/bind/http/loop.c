#include "bind/call/reply.h"
#include "bind/http/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* core.loop() -> loop */
static int l_loop(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct loop *l = box_new(L, &loop_type, sizeof *l, 3);
  for (int i = LOOP_PROMISES; i <= LOOP_WATCHES; i++) {
    lua_newtable(L);
    lua_setiuservalue(L, -2, i);
  }
  l->interrupts = host_interrupts(L);
  l->shared = calloc(1, sizeof *l->shared);
  if (!l->shared) return luaL_error(L, "out of memory");
  box_open(L, -1);
  if (shared_http_open(l->shared, &e)) return 1;
  box_close(L, -1);
  return push_failure(L, &e);
}

/* ---- waiting and stepping ---- */

static void take_events(struct loop *l, double seconds) {
  l->count = http_run(l->shared->http, l->events, MOST_EVENTS, seconds);
  l->next = 0;
}

static double earlier(double a, double b) {
  if (a < 0) return b;
  return b < 0 || a < b ? a : b;
}

/* Until something is ready, a timer of libcurl is due, or so many real seconds have passed; negative: no
 * limit. A new request starts with a timer of libcurl's: http_run serves it before it waits, so that it is no
 * reason for a turn in Lua. */
static void wait_for(struct loop *l, double seconds) {
  if (l->next < l->count) return;
  take_events(l, seconds);
  l->stepped = true;
}

/* loop:wait(seconds or nil). What loop:timeout told holds for the wait or the turn that follows, and no
 * longer: the same seconds are a limit later. */
static int l_wait(lua_State *L) {
  struct loop *l = check_loop(L);
  double seconds = luaL_optnumber(L, 2, -1);
  double limit = seconds == l->told ? l->own : seconds;
  l->told = NAN;
  wait_for(l, limit);
  return 0;
}

static void push_none(lua_State *L) {
  lua_settop(L, 1);
  lua_settop(L, 3);
}

/* The next finished request as its promise and its reply, or two nils. The box comes first: where there is no
 * memory for it the request stays to be taken. */
static void push_finished(lua_State *L, struct loop *l) {
  if (!http_finished(l->shared->http)) return push_none(L);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, LOOP_PROMISES);
  struct reply *reply = box_new(L, &reply_type, sizeof *reply, 0);
  struct http_transfer *t = http_take(l->shared->http);
  if (!t) return push_none(L);
  lua_Integer token = (lua_Integer)(intptr_t)transfer_user(t);
  lua_rawgeti(L, 2, token);
  lua_pushnil(L);
  lua_rawseti(L, 2, token); /* a key that is there: takes no memory */
  lua_replace(L, 2);
  reply->transfer = t;
  reply->response = transfer_response(t);
  reply->shared = l->shared;
  l->shared->references++;
  box_open(L, 3);
}

/* loop:take() -> promise, reply, whether there are more: the next finished request, or nothing */
static int l_take(lua_State *L) {
  struct loop *l = check_loop(L);
  push_finished(L, l);
  lua_pushboolean(L, http_finished(l->shared->http));
  return 3;
}

static int step(lua_State *L, struct loop *l) {
  l->stepped = false;
  l->told = NAN;
  untaken_told(&l->untaken);
  push_finished(L, l);
  lua_pushboolean(L, http_finished(l->shared->http));
  lua_pushboolean(L, l->next < l->count);
  lua_pushboolean(L, l->sleepers.size > 0);
  return 5;
}

/* loop:step() -> promise, reply, whether there are more, whether watched descriptors are ready, whether
 * anybody sleeps: handles what is ready without waiting, and takes the first finished request. */
static int l_step(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->interrupts) refuse_interruptions(L);
  if (l->next >= l->count && !l->stepped) take_events(l, 0);
  return step(L, l);
}

/* loop:turn(seconds or nil): loop:timeout(seconds), loop:wait and loop:step in one. */
static int l_turn(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->interrupts) refuse_interruptions(L);
  wait_for(l, earlier(luaL_optnumber(L, 2, -1), untaken_seconds(&l->untaken)));
  return step(L, l);
}

/* loop:take_number(loop of the parent), in a forked child: see poller.h */
static int l_take_number(lua_State *L) {
  struct loop *l = check_loop(L), *from = box_check(L, 2, &loop_type);
  luaL_argcheck(L, poller_forked(&from->shared->poller), 2, "it is not a parent's");
  l->exported = poller_take_number(&l->shared->poller, &from->shared->poller);
  lua_pushboolean(L, l->exported);
  return 1;
}

/* loop:fd(): the one descriptor; from now on its timer is kept armed by loop:arm(). */
static int l_fd(lua_State *L) {
  struct loop *l = check_loop(L);
  l->exported = true;
  lua_pushinteger(L, l->shared->poller.fd);
  return 1;
}

/* loop:timeout(seconds or nil) -> seconds or nil: the earliest of libcurl's timer and the caller's; arms the
 * descriptor. */
static int l_timeout(lua_State *L) {
  struct loop *l = check_loop(L);
  l->own = earlier(luaL_optnumber(L, 2, -1), untaken_seconds(&l->untaken));
  double seconds = earlier(l->own, http_timeout(l->shared->http));
  if (l->next < l->count) seconds = 0;
  l->told = seconds;
  if (l->exported) poller_arm(&l->shared->poller, seconds);
  if (seconds < 0) return 0;
  lua_pushnumber(L, seconds);
  return 1;
}

/* loop:cancel(promise): its request finishes as cancelled and is taken as usual. */
static int l_cancel(lua_State *L) {
  struct loop *l = check_loop(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_getfield(L, 2, "token");
  lua_getiuservalue(L, 1, LOOP_PROMISES);
  lua_rawgeti(L, -1, lua_tointeger(L, -2));
  if (!lua_rawequal(L, -1, 2)) return luaL_argerror(L, 2, "promise of a request in flight expected");
  lua_getfield(L, 2, "transfer");
  http_cancel(l->shared->http, lua_touserdata(L, -1));
  return 0;
}

/* loop:forked(): whether this process is a child of the one that made the loop */
static int l_forked(lua_State *L) {
  const struct loop *l = box_check(L, 1, &loop_type);
  lua_pushboolean(L, poller_forked(&l->shared->poller));
  return 1;
}

static const luaL_Reg loop_methods[] = {{"wait", l_wait},
                                        {"step", l_step},
                                        {"turn", l_turn},
                                        {"ready", loop_l_ready},
                                        {"fd", l_fd},
                                        {"take_number", l_take_number},
                                        {"timeout", l_timeout},
                                        {"watch", loop_l_watch},
                                        {"unwatch", loop_l_unwatch},
                                        {"submit", loop_l_submit},
                                        {"submit_raw", loop_l_submit_raw},
                                        {"cancel", l_cancel},
                                        {"take", l_take},
                                        {"sleep", loop_l_sleep},
                                        {"next_at", loop_l_next_at},
                                        {"due", loop_l_due},
                                        {"untaken", loop_l_untaken},
                                        {"taken", loop_l_taken},
                                        {"forked", l_forked},
                                        {NULL, NULL}};

/* ---- time ---- */

static double seconds_of(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* core.clock() -> mono, wall. The monotonic clock goes on while the machine sleeps: sessions and tokens age
 * then too. */
static int l_clock(lua_State *L) {
#ifdef CLOCK_BOOTTIME
  lua_pushnumber(L, seconds_of(CLOCK_BOOTTIME));
#else
  lua_pushnumber(L, seconds_of(CLOCK_MONOTONIC));
#endif
  lua_pushnumber(L, seconds_of(CLOCK_REALTIME));
  return 2;
}

void open_loop(lua_State *L) {
  box_define(L, &loop_type);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, loop_methods, 0);
  lua_pop(L, 2);
  open_settings(L);
  static const luaL_Reg functions[] = {{"loop", l_loop}, {"clock", l_clock}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
