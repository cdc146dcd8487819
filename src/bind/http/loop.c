/* fleet.loop, the event loop: waits and steps, sleeping promises, watched descriptors and submitted requests.
 * The list of its methods is at the end.
 *
 * A promise is a Lua table. This file sets its members `token` and `transfer` when it submits a request, and
 * reads `done`.
 */
#include "base/timers.h"
#include "bind/call/reply.h"
#include "bind/call/request.h"
#include "bind/http/shared.h"
#include "bind/lua/secret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_EVENTS = 256, WATCH_TAG = 2 };
/* User values of a loop: token of a request in flight -> its promise; key of a timer -> its promise. */
enum { LOOP_PROMISES = 1, LOOP_SLEEPERS = 2 };

struct untaken { /* results that their owner has not taken */
  int count;
  double pause, at; /* poller_now() seconds: the descriptor is to be ready again then */
};

struct loop {
  struct shared_http *shared;
  struct poller_event events[MOST_EVENTS]; /* of the last wait, without libcurl's: loop:ready returns them */
  int count, next;
  struct timers sleepers;
  struct untaken untaken;
  lua_Integer last_token;
  double own_timeout, last_timeout; /* the last argument and result of loop:timeout; negative: none */
  bool stepped;                     /* loop:wait has taken events: the next step need not */
  bool exported;                    /* a host waits on the descriptor: its timer must be armed */
  bool interrupts;                  /* host_interrupts */
};

static void release_loop(void *object) {
  struct loop *l = object;
  struct shared_http *s = l->shared;
  l->shared = NULL;
  timers_free(&l->sleepers);
  if (s) shared_http_release(s);
}

static const luaL_Reg loop_methods[];
static const struct box_type loop_type = {"fleet.loop", release_loop, loop_methods, NULL};

static struct loop *check_loop(lua_State *L) {
  struct loop *l = box_check(L, 1, &loop_type);
  if (poller_forked(&l->shared->poller))
    luaL_error(L, "the loop was created before fork: make a new client in a new state");
  return l;
}

/* ---- results that their owner has not taken ----
 *
 * A coroutine outside of tasks waits in its host until the descriptor is ready. If a tick of another
 * coroutine reads its reply, the descriptor has nothing left to read. Therefore the descriptor becomes ready
 * again until the owner takes the result: at once, then after pauses that double. After about two seconds it
 * stops, because the host may have dropped the coroutine. */

static const double shortest = 0.001, longest = 1;

/* loop:untaken() */
static int l_untaken(lua_State *L) {
  struct loop *l = check_loop(L);
  l->untaken = (struct untaken){.count = l->untaken.count + 1};
  return 0;
}

/* loop:taken() */
static int l_taken(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->untaken.count > 0) l->untaken.count--;
  return 0;
}

static double untaken_seconds(const struct untaken *u) {
  if (u->count == 0) return -1;
  double left = u->at - poller_now();
  return left > 0 ? left : 0;
}

static void untaken_tick(struct untaken *u) {
  if (u->count == 0 || poller_now() < u->at) return;
  u->pause = u->pause * 2 > shortest ? u->pause * 2 : shortest;
  u->at = poller_now() + u->pause;
  if (u->pause > longest) u->count = 0;
}

/* ---- hosts that preempt Lua code ----
 *
 * HAProxy uses a count hook to interrupt a coroutine after a configured number of instructions, and runs
 * another coroutine on the same tables. The loop's Lua code is consistent only where it waits. */

enum { FEWEST_INSTRUCTIONS = 100000000 };

/* The global `core` with HAProxy's functions; without metamethods, which a host's globals may have. */
static bool host_interrupts(lua_State *L) {
  bool found = false;
  int top = lua_gettop(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_getfield(L, -1, "_G") == LUA_TTABLE) {
    lua_pushliteral(L, "core");
    if (lua_rawget(L, -2) == LUA_TTABLE) {
      lua_pushliteral(L, "register_task");
      found = lua_rawget(L, -2) == LUA_TFUNCTION;
    }
  }
  lua_settop(L, top);
  return found;
}

static void refuse_interruptions(lua_State *L) {
  int instructions = lua_gethookcount(L);
  if (!(lua_gethookmask(L) & LUA_MASKCOUNT) || instructions >= FEWEST_INSTRUCTIONS) return;
  luaL_error(L,
             "HAProxy may interrupt this code after %d instructions, and another coroutine would find its "
             "tables half changed: put 'tune.lua.forced-yield 1000000000' into the section global of its "
             "configuration",
             instructions);
}

/* core.loop() -> loop */
static int l_loop(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct loop *l = box_new(L, &loop_type, sizeof *l, 2);
  for (int i = LOOP_PROMISES; i <= LOOP_SLEEPERS; i++) {
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

/* Waits until a descriptor is ready, a timer of libcurl is due, or so many real seconds have passed
 * (negative: no limit). libcurl starts a new request with a timer: http_run serves it before it waits. */
static void wait_for(struct loop *l, double seconds) {
  if (l->next < l->count) return;
  take_events(l, seconds);
  l->stepped = true;
}

/* loop:wait(seconds or nil). Seconds that loop:timeout has just returned may be libcurl's timer, which
 * http_run serves by itself: then the caller's own limit counts. */
static int l_wait(lua_State *L) {
  struct loop *l = check_loop(L);
  double seconds = luaL_optnumber(L, 2, -1);
  double limit = seconds == l->last_timeout ? l->own_timeout : seconds;
  l->last_timeout = NAN;
  wait_for(l, limit);
  return 0;
}

static void push_none(lua_State *L) {
  lua_settop(L, 1);
  lua_settop(L, 3); /* two nils */
}

/* Pushes promise and reply of the next finished request, or two nils. The box is made first: if memory is
 * out, the request can still be taken later. */
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
  lua_rawseti(L, 2, token); /* the key exists: this needs no memory */
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
  l->last_timeout = NAN;
  untaken_tick(&l->untaken);
  push_finished(L, l);
  lua_pushboolean(L, http_finished(l->shared->http));
  lua_pushboolean(L, l->next < l->count);
  lua_pushboolean(L, l->sleepers.size > 0);
  return 5;
}

/* loop:step() -> promise, reply, whether there are more, whether watched descriptors are ready, whether
 * tasks sleep: handles ready events without waiting, and takes the first finished request. */
static int l_step(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->interrupts) refuse_interruptions(L);
  if (l->next >= l->count && !l->stepped) take_events(l, 0);
  return step(L, l);
}

/* loop:tick(seconds or nil): loop:timeout(seconds), loop:wait and loop:step in one. */
static int l_tick(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->interrupts) refuse_interruptions(L);
  wait_for(l, earlier(luaL_optnumber(L, 2, -1), untaken_seconds(&l->untaken)));
  return step(L, l);
}

/* loop:take_fd(loop of the parent), in a forked child: see poller.h */
static int l_take_fd(lua_State *L) {
  struct loop *l = check_loop(L), *from = box_check(L, 2, &loop_type);
  luaL_argcheck(L, poller_forked(&from->shared->poller), 2, "it is not a parent's");
  l->exported = poller_take_fd(&l->shared->poller, &from->shared->poller);
  lua_pushboolean(L, l->exported);
  return 1;
}

/* loop:fd(): the one descriptor; from now on its timer is kept armed by loop:arm(). */
static int l_fd(lua_State *L) {
  struct loop *l = check_loop(L);
  struct err e;
  err_clear(&e);
  if (!poller_export(&l->shared->poller, &e)) return luaL_error(L, "%s", e.message);
  l->exported = true;
  lua_pushinteger(L, l->shared->poller.fd);
  return 1;
}

/* loop:timeout(seconds or nil) -> seconds or nil: the earliest of libcurl's timer and the caller's; arms the
 * descriptor. */
static int l_timeout(lua_State *L) {
  struct loop *l = check_loop(L);
  l->own_timeout = earlier(luaL_optnumber(L, 2, -1), untaken_seconds(&l->untaken));
  double seconds = earlier(l->own_timeout, http_timeout(l->shared->http));
  if (l->next < l->count) seconds = 0;
  l->last_timeout = seconds;
  if (l->exported) poller_arm(&l->shared->poller, seconds);
  if (seconds < 0) return 0;
  lua_pushnumber(L, seconds);
  return 1;
}

/* loop:cancel(promise): its request finishes as cancelled and is taken like any other. */
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

/* ---- sleeping ----
 *
 * Promises that are resolved at a time. The heap holds keys, and a user value of the loop has their promises.
 * Lua gives the time, because simulated time may run faster. */

/* loop:sleep(promise, at) */
static int l_sleep(lua_State *L) {
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

/* Removes promises that are already resolved, and pushes the first other one. NULL: there is none, and
 * nothing is pushed. */
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
static int l_next_at(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_getiuservalue(L, 1, LOOP_SLEEPERS);
  const struct timer *first = push_first(L, l, lua_gettop(L));
  if (!first) return 0;
  lua_pushnumber(L, first->at);
  return 1;
}

/* loop:due(time) -> the promise that is due at that time, taken; or nothing */
static int l_due(lua_State *L) {
  struct loop *l = check_loop(L);
  double time = luaL_checknumber(L, 2);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, LOOP_SLEEPERS);
  const struct timer *first = push_first(L, l, 3);
  if (!first || first->at > time) return 0;
  pop(L, l, 3);
  return 1;
}

/* ---- watched descriptors: lua/fleet/async/loop.lua has their functions ---- */

/* loop:watch(fd, mode) -> true; nil, err, kind. mode: "r", "w" or "rw" */
static int l_watch(lua_State *L) {
  static const char *const modes[] = {"r", "w", "rw", NULL};
  static const unsigned events[] = {POLLER_READ, POLLER_WRITE, POLLER_READ | POLLER_WRITE};
  struct err e;
  err_clear(&e);
  int fd = (int)luaL_checkinteger(L, 2), mode = luaL_checkoption(L, 3, NULL, modes);
  if (!poller_watch(&check_loop(L)->shared->poller, fd, events[mode], WATCH_TAG, &e))
    return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* loop:unwatch(fd) */
static int l_unwatch(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct loop *l = box_check(L, 1, &loop_type);
  int fd = (int)luaL_checkinteger(L, 2);
  if (!poller_forked(&l->shared->poller)) poller_watch(&l->shared->poller, fd, 0, WATCH_TAG, &e);
  return 0;
}

/* loop:ready() -> fd, "r"|"w"|"rw": the next descriptor of this step that is ready, or nothing */
static int l_ready(lua_State *L) {
  static const char *const names[] = {"rw", "r", "w", "rw", "rw", "r", "w", "rw"};
  struct loop *l = check_loop(L);
  if (l->next >= l->count) return 0;
  const struct poller_event *event = &l->events[l->next++];
  lua_pushinteger(L, event->fd);
  lua_pushstring(L, names[event->events & 7]);
  return 2;
}

/* ---- requests ---- */

enum {
  MOST_HEADERS = 32,
  ONCE_IDLE_SECONDS = 10 /* a server may be about to end a connection that is idle for longer */
};

struct outgoing { /* of one submit; all texts are Lua strings or scratch buffers on the stack */
  struct http_request r;
  const char *headers[MOST_HEADERS + 1];
  int count;
  char url[512]; /* if it fits */
};

static void add_header(lua_State *L, struct outgoing *o, const char *line) {
  if (o->count >= MOST_HEADERS) luaL_error(L, "too many headers");
  if (strpbrk(line, "\r\n")) luaL_error(L, "a header must not hold a line break");
  o->headers[o->count++] = line;
}

static const char *text_field(lua_State *L, int index, const char *name) {
  if (lua_getfield(L, index, name) == LUA_TNIL) return NULL;
  const char *text = luaL_checkstring(L, -1);
  if (strlen(text) != lua_rawlen(L, -1)) luaL_error(L, "'%s' must not hold NUL", name);
  return text;
}

static double number_field(lua_State *L, int index, const char *name, double fallback, double most) {
  lua_getfield(L, index, name);
  double value = luaL_optnumber(L, -1, fallback);
  if (!(value >= 0 && value <= most)) luaL_error(L, "'%s' is a number from 0 to %f", name, most);
  return value;
}

static bool flag_field(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  return lua_toboolean(L, -1);
}

/* ---- the settings of connections, read once for many requests ---- */

struct settings { /* a table in a user value holds the texts */
  double connect_timeout;
  size_t max_response;
  bool http2;
  const char *ca_file, *unix_path, *proxy, *agent_line;
};
enum { SETTINGS_TABLE = 1 };

static const struct box_type settings_type = {"fleet.settings", NULL, NULL, NULL};

/* Copied, because the caller may change its table while the texts are in use. */
static void push_texts(lua_State *L) {
  static const char *const names[] = {"ca_file", "unix_path", "proxy", "agent_line"};
  lua_createtable(L, 0, 4);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (lua_getfield(L, 1, names[i]) != LUA_TNIL) luaL_checkstring(L, -1); /* a number becomes text here */
    lua_setfield(L, -2, names[i]);
  }
}

/* core.settings{ connect_timeout =, max_response =, ca_file =, unix_path =, proxy =, http2 =, agent_line =
 * } */
static int l_settings(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_checkstack(L, 10, "settings");
  push_texts(L);
  struct settings s = {.connect_timeout = number_field(L, 1, "connect_timeout", 10, 1e9),
                       .max_response = (size_t)number_field(L, 1, "max_response", 10e6, 18e18),
                       .http2 = flag_field(L, 1, "http2"),
                       .ca_file = text_field(L, 2, "ca_file"),
                       .unix_path = text_field(L, 2, "unix_path"),
                       .proxy = text_field(L, 2, "proxy"),
                       .agent_line = text_field(L, 2, "agent_line")};
  struct settings *box = box_new(L, &settings_type, sizeof *box, 1);
  *box = s; /* never opened: it owns nothing to release */
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, SETTINGS_TABLE);
  return 1;
}

static const struct settings *take_settings(lua_State *L, int index, struct outgoing *o) {
  const struct settings *s = box_any(L, index, &settings_type);
  o->r.connect_timeout = s->connect_timeout;
  o->r.max_response = s->max_response;
  o->r.ca_file = s->ca_file;
  o->r.unix_path = s->unix_path;
  o->r.proxy = s->proxy;
  o->r.headers = o->headers;
  if (s->agent_line) add_header(L, o, s->agent_line);
  return s;
}

/* ---- submitting ---- */

/* The entry of the promise is made first, because nothing may fail after http_submit. Every promise has the
 * members token and transfer, so that setting them needs no memory. */
static int submit(lua_State *L, struct outgoing *o) {
  struct loop *l = check_loop(L);
  struct err e;
  err_clear(&e);
  lua_Integer token = l->last_token + 1;
  o->headers[o->count] = NULL;
  lua_getiuservalue(L, 1, LOOP_PROMISES);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, token);
  struct http_transfer *t = http_submit(l->shared->http, &o->r, &e);
  if (!t) {
    lua_pushnil(L);
    lua_rawseti(L, -2, token);
    return push_failure(L, &e);
  }
  l->last_token = token;
  transfer_set_user(t, (void *)(intptr_t)token);
  lua_pushlightuserdata(L, t);
  lua_setfield(L, 2, "transfer");
  lua_pushinteger(L, token);
  lua_setfield(L, 2, "token");
  lua_pushboolean(L, true);
  return 1;
}

/* On the stack if it fits. The buffer is not wiped, because addresses hold no secrets. */
static const char *address(lua_State *L, struct outgoing *o, const char *base, const struct buf *target) {
  size_t size = strlen(base);
  if (size + target->size >= sizeof o->url) return lua_pushfstring(L, "%s%s", base, buf_text(target));
  memcpy(o->url, base, size);
  memcpy(o->url + size, buf_text(target), target->size + 1);
  return o->url;
}

/* loop:submit(promise, request, base, authorization line or nil, settings, timeout) -> true, or nil, err,
 * kind */
static int l_submit(lua_State *L) {
  check_loop(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct outgoing o = {0};
  const struct request *request = check_written(L, 3);
  lua_settop(L, 7); /* an omitted argument is nil */
  o.r.method = request->row->verb;
  o.r.http2 = take_settings(L, 6, &o)->http2 && !request_is_write(request);
  if (request_is_write(request) && !request->options.idempotent) o.r.idle_limit = ONCE_IDLE_SECONDS;
  const char *base = luaL_checkstring(L, 4), *authorization = luaL_optstring(L, 5, NULL);
  if (authorization) add_header(L, &o, authorization);
  if (request->row->verb[0] != 'G') add_header(L, &o, "Content-Type: application/json");
  if (request->has_body) o.r.body = buf_bytes(&request->body);
  o.r.url = address(L, &o, base, &request->target);
  o.r.timeout = luaL_checknumber(L, 7);
  return submit(L, &o);
}

static void read_headers(lua_State *L, int index, struct outgoing *o) {
  if (lua_getfield(L, index, "headers") == LUA_TNIL) return;
  lua_Integer count = luaL_len(L, -1);
  int list = lua_gettop(L);
  luaL_checkstack(L, MOST_HEADERS + 4, "request");
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, list, i);
    add_header(L, o, luaL_checkstring(L, -1));
  }
}

/* loop:submit_raw(promise, { method, url, headers, body }, settings, timeout) -> true, or nil, err, kind */
static int l_submit_raw(lua_State *L) {
  check_loop(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  struct outgoing o = {0};
  lua_settop(L, 5);
  take_settings(L, 4, &o);
  o.r.timeout = luaL_checknumber(L, 5);
  o.r.method = text_field(L, 3, "method");
  o.r.url = text_field(L, 3, "url");
  if (!o.r.method || !o.r.url) return luaL_error(L, "a request needs a method and a url");
  if (o.r.method[0] != 'G') o.r.idle_limit = ONCE_IDLE_SECONDS;
  read_headers(L, 3, &o);
  if (lua_getfield(L, 3, "body") != LUA_TNIL) o.r.body = check_text(L, -1);
  return submit(L, &o);
}

static const luaL_Reg loop_methods[] = {{"wait", l_wait},
                                        {"step", l_step},
                                        {"tick", l_tick},
                                        {"ready", l_ready},
                                        {"fd", l_fd},
                                        {"take_fd", l_take_fd},
                                        {"timeout", l_timeout},
                                        {"watch", l_watch},
                                        {"unwatch", l_unwatch},
                                        {"submit", l_submit},
                                        {"submit_raw", l_submit_raw},
                                        {"cancel", l_cancel},
                                        {"take", l_take},
                                        {"sleep", l_sleep},
                                        {"next_at", l_next_at},
                                        {"due", l_due},
                                        {"untaken", l_untaken},
                                        {"taken", l_taken},
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
  static const luaL_Reg functions[] = {
      {"loop", l_loop}, {"settings", l_settings}, {"clock", l_clock}, {NULL, NULL}};
  box_define(L, &loop_type);
  box_define(L, &settings_type);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
}
