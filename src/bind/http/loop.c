#include "bind/call/reply.h"
#include "bind/call/request.h"
#include "bind/lua/secret.h"
#include "bind/http/shared.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_EVENTS = 256, WATCH_TAG = 2 };
enum { LOOP_TOKENS = 1 }; /* user value of a loop: token of a request in flight -> its transfer */

struct loop {
  struct shared_http *shared;
  struct poller_event
      events[MOST_EVENTS]; /* what the last wait found: libcurl's are handled, the others handed out */
  int count, next;
  bool exported; /* a host waits on the descriptor: its timer must be armed */
};

static void release_loop(void *object) {
  struct loop *l = object;
  struct shared_http *s = l->shared;
  l->shared = NULL;
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

static int l_loop(lua_State *L) {
  struct err e = ERR_INIT;
  struct loop *l = box_new(L, &loop_type, sizeof *l, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, LOOP_TOKENS);
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
  double seconds = luaL_optnumber(L, 2, -1);
  if (l->next < l->count) return 0;
  take_events(l, seconds);
  return 0;
}

/* loop:step(): handles what is ready without waiting. */
static int l_step(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->next >= l->count) take_events(l, 0);
  return 0;
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

/* loop:timeout(seconds or nil) -> seconds or nil: the earlier of libcurl's timer and the caller's; arms the
 * descriptor. */
static int l_timeout(lua_State *L) {
  struct loop *l = check_loop(L);
  double seconds = earlier(luaL_optnumber(L, 2, -1), http_timeout(l->shared->http));
  if (l->next < l->count) seconds = 0;
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

/* ---- requests ---- */

enum {
  MOST_HEADERS = 32,
  ONCE_IDLE_SECONDS = 10 /* a server may be about to end a connection that is idle for longer */
};

struct outgoing { /* what one submit needs; everything points into Lua strings or scratch buffers on the stack
                   */
  struct http_request r;
  const char *headers[MOST_HEADERS + 1];
  int count;
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

static double number_field(lua_State *L, int index, const char *name, double fallback) {
  lua_getfield(L, index, name);
  return luaL_optnumber(L, -1, fallback);
}

/* The table of connection settings: timeout, connect_timeout, max_response, ca_file, unix_path, proxy, sink.
 */
static void read_settings(lua_State *L, int index, struct outgoing *o) {
  luaL_checktype(L, index, LUA_TTABLE);
  luaL_checkstack(L, MOST_HEADERS, "request");
  o->r.connect_timeout = number_field(L, index, "connect_timeout", 10);
  o->r.max_response = (size_t)number_field(L, index, "max_response", 10e6);
  o->r.ca_file = text_field(L, index, "ca_file");
  o->r.unix_path = text_field(L, index, "unix_path");
  o->r.proxy = text_field(L, index, "proxy");
  const char *agent = text_field(L, index, "agent_line");
  if (agent) add_header(L, o, agent);
  o->r.headers = o->headers;
}

/* The id is the token. Its place in the table is made first: once the request is on its way nothing may fail.
 */
static int submit(lua_State *L, struct loop *l, struct outgoing *o, lua_Integer id) {
  struct err e = ERR_INIT;
  o->headers[o->count] = NULL;
  lua_getiuservalue(L, 1, LOOP_TOKENS);
  lua_pushboolean(L, false);
  lua_rawseti(L, -2, id);
  struct http_transfer *t = http_submit(l->shared->http, &o->r, &e);
  if (t) {
    transfer_set_user(t, (void *)(intptr_t)id);
    lua_pushlightuserdata(L, t);
  } else {
    lua_pushnil(L);
  }
  lua_rawseti(L, -2, id);
  if (!t) return push_failure(L, &e);
  lua_pushinteger(L, id);
  return 1;
}

/* loop:submit(id, request, base, authorization line or nil, settings, timeout, sink or nil) -> token, or nil,
 * err, kind */
static int l_submit(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_Integer id = luaL_checkinteger(L, 2);
  const struct request *request = check_written(L, 3);
  const char *base = luaL_checkstring(L, 4), *authorization = luaL_optstring(L, 5, NULL);
  struct outgoing o = {.r = {.method = request->row->verb}};
  lua_settop(L, 8); /* what is left out is nil, not what is pushed below */
  read_settings(L, 6, &o);
  o.r.timeout = luaL_checknumber(L, 7);
  o.r.sink = (int)luaL_optinteger(L, 8, 0);
  if (request_is_write(request) && !request->idempotent) o.r.idle_limit = ONCE_IDLE_SECONDS;
  if (authorization) add_header(L, &o, authorization);
  if (request->row->verb[0] != 'G') add_header(L, &o, "Content-Type: application/json");
  if (request->has_body) o.r.body = buf_bytes(&request->body);
  o.r.url = lua_pushfstring(L, "%s%s", base, buf_text(&request->target)); /* no secret stands in an address */
  return submit(L, l, &o, id);
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

/* loop:submit_raw(id, { method, url, headers, body }, settings, timeout) -> token, or nil, err, kind */
static int l_submit_raw(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_Integer id = luaL_checkinteger(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  struct outgoing o = {0};
  lua_settop(L, 5);
  read_settings(L, 4, &o);
  o.r.timeout = luaL_checknumber(L, 5);
  o.r.method = text_field(L, 3, "method");
  o.r.url = text_field(L, 3, "url");
  if (!o.r.method || !o.r.url) return luaL_error(L, "a request needs a method and a url");
  if (o.r.method[0] != 'G') o.r.idle_limit = ONCE_IDLE_SECONDS;
  read_headers(L, 3, &o);
  if (lua_getfield(L, 3, "body") != LUA_TNIL) o.r.body = check_text(L, -1);
  return submit(L, l, &o, id);
}

/* loop:cancel(token): finishes as cancelled and is taken as usual. */
static int l_cancel(lua_State *L) {
  struct loop *l = check_loop(L);
  lua_getiuservalue(L, 1, LOOP_TOKENS);
  if (!lua_isinteger(L, 2) || lua_rawgeti(L, -1, lua_tointeger(L, 2)) != LUA_TLIGHTUSERDATA)
    return luaL_argerror(L, 2, "token of a request in flight expected");
  http_cancel(l->shared->http, lua_touserdata(L, -1));
  return 0;
}

/* loop:take() -> id, reply: the next finished request, or nothing. The box comes first: where there is no
 * memory for it the request stays to be taken. */
static int l_take(lua_State *L) {
  struct loop *l = check_loop(L);
  if (!http_finished(l->shared->http)) return 0;
  lua_settop(L, 1);
  struct reply *reply = box_new(L, &reply_type, sizeof *reply, 0);
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
  return 2;
}

/* loop:forked(): whether this process is a child of the one that made the loop */
static int l_forked(lua_State *L) {
  const struct loop *l = box_check(L, 1, &loop_type);
  lua_pushboolean(L, poller_forked(&l->shared->poller));
  return 1;
}

static const luaL_Reg loop_methods[] = {
    {"wait", l_wait},       {"step", l_step},   {"ready", l_ready},   {"fd", l_fd},
    {"timeout", l_timeout}, {"watch", l_watch}, {"submit", l_submit}, {"submit_raw", l_submit_raw},
    {"cancel", l_cancel},   {"take", l_take},   {"forked", l_forked}, {NULL, NULL}};

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
  lua_pop(L, 1);
  static const luaL_Reg functions[] = {{"loop", l_loop}, {"clock", l_clock}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
