#include "bind/lua/bind.h"
#include "server/daemon.h"

#include <microhttpd.h>
#include <string.h>

enum { HOLDS_HANDLER = 1, HOLDS_WATCH, SERVER_VALUES = 2 };
enum { HOLDS_FIELDS = 1, HOLDS_SERVER, REQUEST_VALUES = 2 };
enum { ROUNDS = 8 /* of requests per step: what is left waits for the next one */ };

struct server {
  struct daemon daemon;
  int depth; /* step() may be entered again by a handler that blocks */
};

struct request {
  struct exchange *exchange;
  bool answered;
};

/* ---- boxes ---- */

static void release_server(void *object) {
  daemon_close(&((struct server *)object)->daemon);
}

static void release_request(void *object) {
  exchange_release(((struct request *)object)->exchange);
}

static int l_close(lua_State *L);
static int l_step(lua_State *L);
static int l_port(lua_State *L);
static int l_request_index(lua_State *L);

static const luaL_Reg server_methods[] = {
    {"close", l_close}, {"step", l_step}, {"port", l_port}, {NULL, NULL}};
static const luaL_Reg server_metamethods[] = {{"__close", l_close}, {NULL, NULL}};
static const struct box_type server_type = {"fleet.server", release_server, server_methods,
                                            server_metamethods};

static const luaL_Reg request_metamethods[] = {{"__index", l_request_index}, {NULL, NULL}};
static const struct box_type request_type = {"fleet.server.request", release_request, NULL,
                                             request_metamethods};

static struct server *check_server(lua_State *L, int index) {
  struct server *s = box_check(L, index, &server_type);
  if (daemon_forked(&s->daemon)) luaL_error(L, "fleet.server was created before fork: make a new server");
  return s;
}

/* ---- requests ---- */

static void set_bytes(lua_State *L, const char *name, const unsigned char *data, size_t size) {
  lua_pushlstring(L, (const char *)data, size);
  lua_setfield(L, -2, name);
}

/* The table of headers is on top of the stack. A name that came twice has both values, RFC 9110 section 5.3.
 */
static void set_header(lua_State *L, const char *name, const char *value) {
  if (lua_getfield(L, -1, name) == LUA_TNIL)
    lua_pushstring(L, value);
  else
    lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), value);
  lua_setfield(L, -3, name);
  lua_pop(L, 1);
}

static void push_headers(lua_State *L, struct bytes headers) {
  const char *at = (const char *)headers.data, *end = at + headers.size;
  lua_newtable(L);
  while (at < end) {
    const char *value = at + strlen(at) + 1;
    set_header(L, at, value);
    at = value + strlen(value) + 1;
  }
}

static void push_fields(lua_State *L, const struct exchange *x) {
  struct bytes target = exchange_target(x), body = exchange_body(x);
  const unsigned char *mark = target.size ? memchr(target.data, '?', target.size) : NULL;
  size_t path = mark ? (size_t)(mark - target.data) : target.size;
  lua_createtable(L, 0, 8);
  lua_pushstring(L, exchange_method(x));
  lua_setfield(L, -2, "method");
  set_bytes(L, "path", target.data, path);
  set_bytes(L, "query", mark ? mark + 1 : NULL, mark ? target.size - path - 1 : 0);
  set_bytes(L, "body", body.data, body.size);
  push_headers(L, exchange_headers(x));
  lua_setfield(L, -2, "headers");
}

static struct request *check_open_request(lua_State *L) {
  struct request *r = box_check(L, 1, &request_type);
  if (r->answered) luaL_error(L, "the request has been answered already");
  return r;
}

/* Requests that arrive on the way wait for the next step(). */
static void run(struct server *s) {
  daemon_run(&s->daemon);
  if (s->daemon.first) daemon_wake(&s->daemon);
}

/* After an answer the library has to run once, or nothing moves: the descriptor does not become ready by it.
 * Inside step() that happens when the handlers are done. */
static void run_after(lua_State *L) {
  lua_getiuservalue(L, 1, HOLDS_SERVER);
  struct server *s = box_test(L, -1, &server_type);
  if (s && box_is_open(L, -1) && s->depth == 0) run(s);
  lua_pop(L, 1);
}

static int finish(lua_State *L, struct request *r, bool done) {
  struct err e = ERR_INIT;
  r->answered = true;
  if (done) {
    run_after(L);
    lua_pushboolean(L, 1);
    return 1;
  }
  err_set(&e, KIND_closed,
          "nobody waits for this answer: the client or the server has gone, or the time limit passed");
  return push_failure(L, &e);
}

/* ---- replies ---- */

static bool is_token(struct bytes name) {
  for (size_t i = 0; i < name.size; i++) {
    if (name.data[i] <= ' ' || name.data[i] >= 127 || strchr("()<>@,;:\\\"/[]?={}", name.data[i]))
      return false;
  }
  return name.size > 0;
}

static bool is_field_value(struct bytes value) {
  for (size_t i = 0; i < value.size; i++) {
    if ((value.data[i] < ' ' && value.data[i] != '\t') || value.data[i] == 127) return false;
  }
  return true;
}

static void check_header_value(lua_State *L, int index, const char *name) {
  if (lua_type(L, index) != LUA_TSTRING || !is_field_value(check_bytes(L, index)))
    luaL_error(L, "header '%s': a value is a string without control characters", name);
}

static void check_header(lua_State *L) { /* name at -2, value at -1 */
  if (lua_type(L, -2) != LUA_TSTRING || !is_token(check_bytes(L, -2)))
    luaL_error(L, "a header name is an HTTP token");
  const char *name = lua_tostring(L, -2);
  if (!lua_istable(L, -1)) return check_header_value(L, -1, name);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1))
    check_header_value(L, -1, name);
  lua_pop(L, 1);
}

static void check_headers(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) check_header(L);
}

/* Everything has been checked: nothing raises while the response is ours. */
static void add_headers(lua_State *L, int index, struct MHD_Response *r) {
  if (!lua_istable(L, index)) return;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *name = lua_tostring(L, -2);
    if (!lua_istable(L, -1)) {
      MHD_add_response_header(r, name, lua_tostring(L, -1));
      continue;
    }
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1))
      MHD_add_response_header(r, name, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

static double number_field(lua_State *L, int index, const char *name, double fallback) {
  lua_getfield(L, index, name);
  double value = lua_isnil(L, -1) ? fallback : lua_isnumber(L, -1) ? lua_tonumber(L, -1) : -1;
  if (!(value >= 0 && value <= 1e9)) luaL_error(L, "option '%s' is a number from 0 to 1e9", name);
  lua_pop(L, 1);
  return value;
}

/* Raises for a name that is not in names; the table is at index. */
static void check_names(lua_State *L, int index, const char *const *names, size_t count) {
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    size_t i = 0;
    luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, index, "option names are strings");
    const char *name = lua_tostring(L, -2);
    while (i < count && strcmp(names[i], name)) i++;
    if (i == count) raise_unknown(L, "option", name, names, count);
  }
}

struct manner {
  double delay;
  bool paced;
  struct pace pace;
};

static struct manner check_manner(lua_State *L, int index) {
  static const char *const names[] = {"delay", "piece", "every", "cut"};
  struct manner m = {0, false, {0, 0, false, 0}};
  if (lua_isnoneornil(L, index)) return m;
  luaL_checktype(L, index, LUA_TTABLE);
  check_names(L, index, names, sizeof names / sizeof *names);
  m.delay = number_field(L, index, "delay", 0);
  m.pace.piece = (size_t)number_field(L, index, "piece", 0);
  m.pace.every = number_field(L, index, "every", 0);
  m.pace.cuts = lua_getfield(L, index, "cut") != LUA_TNIL;
  m.pace.cut = (size_t)number_field(L, index, "cut", 0);
  m.paced = m.pace.piece || m.pace.cuts;
  return m;
}

static struct MHD_Response *make_response(struct exchange *x, struct bytes body, const struct manner *m) {
  if (m->paced) return exchange_paced(x, body, &m->pace);
  return MHD_create_response_from_buffer(body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
}

/* request:respond(status, headers, body, { delay =, piece =, every =, cut = }) -> true | nil, err, "closed"
 */
static int l_respond(lua_State *L) {
  struct request *r = check_open_request(L);
  lua_Integer status = luaL_checkinteger(L, 2);
  luaL_argcheck(L, status >= 200 && status <= 599, 2, "a final status is 200 to 599");
  check_headers(L, 3);
  struct bytes body = {(const unsigned char *)"", 0};
  if (!lua_isnoneornil(L, 4)) body = check_bytes(L, 4);
  struct manner m = check_manner(L, 5);
  if (exchange_answered(r->exchange)) return finish(L, r, false);
  struct MHD_Response *response = make_response(r->exchange, body, &m);
  if (!response) return luaL_error(L, "out of memory");
  add_headers(L, 3, response);
  return finish(L, r, exchange_respond(r->exchange, (unsigned)status, response, m.delay));
}

/* request:drop(seconds) closes the connection without a reply. */
static int l_drop(lua_State *L) {
  struct request *r = check_open_request(L);
  double delay = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, delay >= 0 && delay <= 1e9, 2, "seconds, not negative");
  return finish(L, r, exchange_drop(r->exchange, delay));
}

static int l_request_index(lua_State *L) {
  static const luaL_Reg methods[] = {{"respond", l_respond}, {"drop", l_drop}, {NULL, NULL}};
  const char *name = luaL_checkstring(L, 2);
  box_check(L, 1, &request_type);
  for (const luaL_Reg *m = methods; m->name; m++) {
    if (strcmp(m->name, name)) continue;
    lua_pushcfunction(L, m->func);
    return 1;
  }
  lua_getiuservalue(L, 1, HOLDS_FIELDS);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

/* ---- the loop's side ---- */

/* server -> nothing; the request stands at index 2. A handler that fails has answered 500. */
static int l_handle(lua_State *L) {
  struct server *s = lua_touserdata(L, lua_upvalueindex(1));
  struct request *r = box_new(L, &request_type, sizeof *r, REQUEST_VALUES);
  r->exchange = daemon_take(&s->daemon);
  box_open(L, 2);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, HOLDS_SERVER);
  push_fields(L, r->exchange);
  lua_setiuservalue(L, 2, HOLDS_FIELDS);
  lua_getiuservalue(L, 1, HOLDS_HANDLER);
  lua_pushvalue(L, 2);
  lua_getiuservalue(L, 2, HOLDS_FIELDS);
  if (lua_pcall(L, 2, 0, 0) == LUA_OK) return 0;
  struct MHD_Response *sorry =
      r->answered ? NULL : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
  if (sorry) exchange_respond(r->exchange, 500, sorry, 0);
  r->answered = true;
  return lua_error(L);
}

/* The server is at index 1; the first error stays on the stack. */
static void serve_queue(lua_State *L, struct server *s) {
  while (box_is_open(L, 1) && s->daemon.first) {
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, l_handle, 1);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK && lua_gettop(L) > 2) lua_pop(L, 1);
  }
}

static int step(lua_State *L, struct server *s) {
  lua_settop(L, 1);
  s->depth++;
  bool served = false;
  for (int round = 0; round < ROUNDS && box_is_open(L, 1); round++) {
    daemon_run(&s->daemon);
    served = s->daemon.first != NULL;
    if (!served) break;
    serve_queue(L, s);
  }
  s->depth--;
  if (box_is_open(L, 1) && (served || s->daemon.left)) run(s);
  return lua_gettop(L) > 1 ? lua_error(L) : 0;
}

static int l_step(lua_State *L) {
  return step(L, check_server(L, 1));
}

/* What the loop calls; it may do so once more after close(). */
static int l_ready(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  return box_is_open(L, 1) ? l_step(L) : 0;
}

static int l_port(lua_State *L) {
  lua_pushinteger(L, check_server(L, 1)->daemon.listener.port);
  return 1;
}

static void stop_watching(lua_State *L) {
  if (lua_getiuservalue(L, 1, HOLDS_WATCH) != LUA_TNIL) {
    lua_pushnil(L);
    lua_setiuservalue(L, 1, HOLDS_WATCH);
    lua_getfield(L, -1, "close");
    lua_insert(L, -2);
    lua_call(L, 1, 0);
  }
}

static int l_close(lua_State *L) {
  struct server *s = box_test(L, 1, &server_type);
  if (!s) return luaL_typeerror(L, 1, server_type.name);
  if (!box_is_open(L, 1)) return 0;
  lua_settop(L, 1);
  if (!daemon_forked(&s->daemon)) stop_watching(L);
  box_close(L, 1);
  return 0;
}

/* ---- making one ---- */

static const char *string_option(lua_State *L, const char *name, const char *fallback) {
  lua_getfield(L, 1, name);
  if (lua_isnil(L, -1)) return fallback;
  size_t size;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!text || strlen(text) != size) luaL_error(L, "option '%s' is a string", name);
  return text; /* stays on the stack */
}

static lua_Integer integer_option(lua_State *L, const char *name, lua_Integer fallback, lua_Integer max) {
  int whole = 1;
  lua_getfield(L, 1, name);
  lua_Integer value = lua_isnil(L, -1) ? fallback : lua_tointegerx(L, -1, &whole);
  if (!whole || value < 0 || value > max)
    luaL_error(L, "option '%s' is an integer from 0 to %d", name, (int)max);
  lua_pop(L, 1);
  return value;
}

static double timeout_option(lua_State *L) {
  lua_getfield(L, 1, "timeout");
  double value = lua_isnil(L, -1) ? 60 : lua_isnumber(L, -1) ? lua_tonumber(L, -1) : 0;
  if (!(value > 0 && value <= 86400)) luaL_error(L, "option 'timeout' is seconds, above 0, at most 86400");
  lua_pop(L, 1);
  return value;
}

static void check_loop(lua_State *L) {
  int type = lua_getfield(L, 1, "loop");
  if (type != LUA_TTABLE && type != LUA_TUSERDATA)
    luaL_error(L, "option 'loop' is an object with watch(fd, mode, fn)");
  lua_pop(L, 1);
  if (lua_getfield(L, 1, "on_request") == LUA_TNIL) luaL_error(L, "option 'on_request' is a function");
  lua_pop(L, 1);
}

static void watch(lua_State *L, int server) {
  lua_getfield(L, 1, "loop");
  lua_getfield(L, -1, "watch");
  lua_insert(L, -2);
  lua_pushinteger(L, ((struct server *)box_check(L, server, &server_type))->daemon.fd);
  lua_pushliteral(L, "r");
  lua_pushvalue(L, server);
  lua_pushcclosure(L, l_ready, 1);
  if (lua_pcall(L, 4, 1, 0) != LUA_OK) {
    box_close(L, server);
    lua_error(L);
  }
  lua_setiuservalue(L, server, HOLDS_WATCH);
}

static bool listen_on(struct listener *l, const char *host, int port, const char *path, struct err *e) {
  return path ? listener_unix(l, path, e) : listener_tcp(l, host, port, e);
}

/* server.new { loop =, on_request =, host = "127.0.0.1", port = 0, unix = nil, max_body = 65536,
 *              max_connections = 1000, timeout = 60 } -> server | nil, err, kind */
static int l_new(lua_State *L) {
  static const char *const names[] = {"loop",     "on_request",      "host",   "port", "unix",
                                      "max_body", "max_connections", "timeout"};
  struct err e = ERR_INIT;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_names(L, 1, names, sizeof names / sizeof *names);
  check_loop(L);
  int port = (int)integer_option(L, "port", 0, 65535);
  struct limits limits = {(size_t)integer_option(L, "max_body", 65536, 1 << 30),
                          (unsigned)integer_option(L, "max_connections", 1000, 1000000), timeout_option(L)};
  const char *host = string_option(L, "host", "127.0.0.1"), *path = string_option(L, "unix", NULL);
  struct server *s = box_new(L, &server_type, sizeof *s, SERVER_VALUES);
  int server = lua_gettop(L);
  s->daemon.limits = limits;
  s->daemon.listener.backlog = 1024;
  if (!listen_on(&s->daemon.listener, host, port, path, &e) || !daemon_open(&s->daemon, &e))
    return push_failure(L, &e);
  box_open(L, server);
  lua_getfield(L, 1, "on_request");
  lua_setiuservalue(L, server, HOLDS_HANDLER);
  watch(L, server);
  lua_settop(L, server);
  return 1;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_server(lua_State *L) {
  static const luaL_Reg functions[] = {{"new", l_new}, {"live_objects", l_live}, {NULL, NULL}};
  luaL_checkversion(L);
  box_define(L, &server_type);
  box_define(L, &request_type);
  luaL_newlib(L, functions);
  return 1;
}
