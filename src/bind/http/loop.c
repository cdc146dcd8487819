#include "bind/call/reply.h"
#include "bind/http/loop.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int l_loop(lua_State *L) {
  struct err e = ERR_INIT;
  struct loop *l = box_new(L, &loop_type, sizeof *l, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, LOOP_TOKENS);
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

/* loop:wait(seconds or nil): until something is ready, a timer of libcurl is due, or so many real seconds
 * have passed. */
static int l_wait(lua_State *L) {
  struct loop *l = check_loop(L);
  struct http *http = l->shared->http;
  double seconds = luaL_optnumber(L, 2, -1);
  if (l->next < l->count) return 0;
  bool only_timer = seconds == l->told && http_timeout(http) == 0 && !http_finished(http);
  take_events(l, seconds);
  /* A new request starts with a timer of libcurl's: that is no reason yet for a turn in Lua. */
  if (only_timer && l->count == 0 && !http_finished(http)) take_events(l, l->own);
  l->stepped = true;
  return 0;
}

/* loop:step() -> whether requests have finished, whether watched descriptors are ready: handles what is ready
 * without waiting. */
static int l_step(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->interrupts) refuse_interruptions(L);
  if (l->next >= l->count && !l->stepped) take_events(l, 0);
  l->stepped = false;
  lua_pushboolean(L, http_finished(l->shared->http));
  lua_pushboolean(L, l->next < l->count);
  return 2;
}

/* loop:ready() -> fd, "r"|"w"|"rw": the next watched descriptor of this step, or nothing. */
static int l_ready(lua_State *L) {
  static const char *const names[] = {"rw", "r", "w", "rw", "rw", "r", "w", "rw"};
  struct loop *l = check_loop(L);
  if (l->next >= l->count) return 0;
  const struct poller_event *event = &l->events[l->next++];
  lua_pushinteger(L, event->fd);
  lua_pushstring(L, names[event->events & 7]);
  return 2;
}

/* loop:fd(): the one descriptor; from now on its timer is kept armed by loop:arm(). */
static int l_fd(lua_State *L) {
  struct loop *l = check_loop(L);
  l->exported = true;
  lua_pushinteger(L, l->shared->poller.fd);
  return 1;
}

/* loop:timeout(seconds or nil, seconds or nil) -> seconds or nil: the earliest of libcurl's timer and the
 * caller's; arms the descriptor. */
static int l_timeout(lua_State *L) {
  struct loop *l = check_loop(L);
  l->own = earlier(luaL_optnumber(L, 2, -1), luaL_optnumber(L, 3, -1));
  double seconds = earlier(l->own, http_timeout(l->shared->http));
  if (l->next < l->count) seconds = 0;
  l->told = seconds;
  if (l->exported) poller_arm(&l->shared->poller, seconds);
  if (seconds < 0) return 0;
  lua_pushnumber(L, seconds);
  return 1;
}

/* loop:watch(fd, mode): mode "r", "w", "rw", or nil to stop. */
static int l_watch(lua_State *L) {
  struct loop *l = check_loop(L);
  struct err e = ERR_INIT;
  int fd = (int)luaL_checkinteger(L, 2);
  const char *mode = luaL_optstring(L, 3, "");
  unsigned events = (strchr(mode, 'r') ? POLLER_READ : 0u) | (strchr(mode, 'w') ? POLLER_WRITE : 0u);
  if (!poller_watch(&l->shared->poller, fd, events, WATCH_TAG, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* ---- replies ---- */

/* loop:cancel(token): finishes as cancelled and is taken as usual. */
static int l_cancel(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_getiuservalue(L, 1, LOOP_TOKENS);
  if (!lua_isinteger(L, 2) || lua_rawgeti(L, -1, lua_tointeger(L, 2)) != LUA_TLIGHTUSERDATA)
    return luaL_argerror(L, 2, "token of a request in flight expected");
  http_cancel(l->shared->http, lua_touserdata(L, -1));
  return 0;
}

/* loop:take() -> id, reply, whether there are more: the next finished request, or nothing. The box comes
 * first: where there is no memory for it the request stays to be taken. */
static int l_take(lua_State *L) {
  struct loop *l = check_loop(L);
  if (!http_finished(l->shared->http)) return 0;
  lua_settop(L, 1);
  struct reply *reply = push_spare(L, &reply_type, sizeof *reply, 0);
  lua_getiuservalue(L, 1, LOOP_TOKENS);
  struct http_transfer *t = http_take(l->shared->http);
  lua_Integer id = (lua_Integer)(intptr_t)transfer_user(t);
  lua_pushnil(L);
  lua_rawseti(L, -2, id); /* a key that is there: takes no memory */
  lua_pop(L, 1);
  reply->transfer = t;
  reply->response = transfer_response(t);
  reply->shared = l->shared;
  l->shared->references++;
  box_open(L, -1);
  lua_pushinteger(L, id);
  lua_insert(L, -2);
  lua_pushboolean(L, http_finished(l->shared->http));
  return 3;
}

/* loop:forked(): whether this process is a child of the one that made the loop */
static int l_forked(lua_State *L) {
  const struct loop *l = box_check(L, 1, &loop_type);
  lua_pushboolean(L, poller_forked(&l->shared->poller));
  return 1;
}

static const luaL_Reg loop_methods[] = {{"wait", l_wait},
                                        {"step", l_step},
                                        {"ready", l_ready},
                                        {"fd", l_fd},
                                        {"timeout", l_timeout},
                                        {"watch", l_watch},
                                        {"submit", loop_l_submit},
                                        {"begin", loop_l_begin},
                                        {"submit_raw", loop_l_submit_raw},
                                        {"cancel", l_cancel},
                                        {"take", l_take},
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
