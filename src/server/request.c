#include "server/server.h"

#include <microhttpd.h>
#include <string.h>

enum { HOLDS_FIELDS = 1, HOLDS_SERVER, REQUEST_VALUES = 2 };

static void release_request(void *object) {
  exchange_release(((struct request *)object)->exchange);
}

static int l_request_index(lua_State *L);
static const luaL_Reg request_metamethods[] = {{"__index", l_request_index}, {NULL, NULL}};
const struct box_type server_request_type = {"fleet.server.request", release_request, NULL,
                                             request_metamethods};

/* ---- its head and body ---- */

/* The table of headers is on top of the stack. A name that came twice has both values, RFC 9110 section
 * 5.3. */
static void set_header(lua_State *L, const char *name, const char *value) {
  if (lua_getfield(L, -1, name) == LUA_TNIL)
    lua_pushstring(L, value);
  else
    lua_pushfstring(L, "%s, %s", lua_tostring(L, -1), value);
  lua_setfield(L, -3, name);
  lua_pop(L, 1);
}

enum { USUAL_HEADERS = 8 };

static void push_headers(lua_State *L, struct bytes headers) {
  const char *at = (const char *)headers.data, *end = at + headers.size;
  lua_createtable(L, 0, USUAL_HEADERS);
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
  set_text(L, "method", exchange_method(x));
  set_bytes(L, "path", (struct bytes){target.data, path});
  set_bytes(L, "query", mark ? (struct bytes){mark + 1, target.size - path - 1} : (struct bytes){0});
  set_bytes(L, "body", body);
  push_headers(L, exchange_headers(x));
  lua_setfield(L, -2, "headers");
}

/* The box comes first: making it may run a finaliser of the host's that takes the last request, or closes the
 * server. */
struct request *request_push(lua_State *L, struct server *s) {
  struct request *r = box_new(L, &server_request_type, sizeof *r, REQUEST_VALUES);
  int box = lua_gettop(L);
  r->exchange = box_is_open(L, 1) ? daemon_take(&s->daemon) : NULL;
  if (!r->exchange) return box_close(L, box), NULL;
  box_open(L, box);
  r->server = s;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, box, HOLDS_SERVER);
  return r;
}

void request_push_fields(lua_State *L, int index) {
  if (lua_getiuservalue(L, index, HOLDS_FIELDS) == LUA_TTABLE) return;
  lua_pop(L, 1);
  push_fields(L, ((struct request *)box_check(L, index, &server_request_type))->exchange);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, index, HOLDS_FIELDS);
}

/* request:peer() -> address or nil, user id or nil, name of a verified client certificate or nil; nothing
 * when the connection has gone. The user id is that of the process that opened a Unix socket. */
static int l_peer(lua_State *L) {
  const struct request *r = box_check(L, 1, &server_request_type);
  struct peer p;
  if (!exchange_peer(r->exchange, &p)) return 0;
  lua_pushstring(L, p.address[0] ? p.address : NULL);
  if (p.uid >= 0)
    lua_pushinteger(L, p.uid);
  else
    lua_pushnil(L);
  lua_pushstring(L, p.certificate[0] ? p.certificate : NULL);
  return 3;
}

static struct request *check_open_request(lua_State *L) {
  struct request *r = box_check(L, 1, &server_request_type);
  if (r->answered) luaL_error(L, "the request has been answered already");
  return r;
}

void server_run(struct server *s) {
  daemon_run(&s->daemon);
  if (s->daemon.first) daemon_wake(&s->daemon);
}

/* The library must run after an answer, because the answer makes no descriptor ready. The first answer after
 * a step is sent at once. Later ones wait for the next step, which sends them together: each run costs system
 * calls. */
static void send_answer(struct server *s) {
  bool first = !s->answered;
  s->answered = true;
  if (first)
    server_run(s);
  else
    daemon_wake(&s->daemon);
}

/* Inside step() the library runs when the handlers are done, and in a forked child not at all: the
 * connections are the parent's. */
static void run_after(lua_State *L, struct server *server) {
  lua_getiuservalue(L, 1, HOLDS_SERVER);
  if (box_is_open(L, -1) && server->depth == 0 && !daemon_forked(&server->daemon)) send_answer(server);
  lua_pop(L, 1);
}

static int finish(lua_State *L, struct request *r, bool done) {
  struct err e;
  err_clear(&e);
  r->answered = true;
  if (done) {
    run_after(L, r->server);
    lua_pushboolean(L, 1);
    return 1;
  }
  err_set(&e, KIND_closed,
          "this answer cannot be sent: the client or the server has gone, or the time limit has passed");
  return push_failure(L, &e);
}

/* ---- replies ---- */

static double number_field(lua_State *L, int index, const char *name, double fallback) {
  lua_getfield(L, index, name);
  double value = lua_isnil(L, -1) ? fallback : lua_isnumber(L, -1) ? lua_tonumber(L, -1) : -1;
  if (!(value >= 0 && value <= 1e9)) luaL_error(L, "option '%s' is a number from 0 to 1e9", name);
  lua_pop(L, 1);
  return value;
}

void check_option_names(lua_State *L, int index, const char *const *names, size_t count) {
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
  check_option_names(L, index, names, sizeof names / sizeof *names);
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

/* request:respond(status, headers, body, { delay =, piece =, every =, cut = }) -> true | nil, err,
 * "closed" */
static int l_respond(lua_State *L) {
  struct request *r = check_open_request(L);
  lua_Integer status = luaL_checkinteger(L, 2);
  luaL_argcheck(L, status >= 200 && status <= 599, 2, "a final status is 200 to 599");
  reply_headers_check(L, 3);
  struct bytes body = {(const unsigned char *)"", 0};
  if (!lua_isnoneornil(L, 4)) body = check_bytes(L, 4);
  struct manner m = check_manner(L, 5);
  if (exchange_answered(r->exchange)) return finish(L, r, false);
  struct MHD_Response *response = make_response(r->exchange, body, &m);
  if (!response) return luaL_error(L, "out of memory");
  reply_headers_add(L, 3, response);
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
  static const luaL_Reg methods[] = {
      {"respond", l_respond}, {"drop", l_drop}, {"peer", l_peer}, {NULL, NULL}};
  const char *name = luaL_checkstring(L, 2);
  box_check(L, 1, &server_request_type);
  for (const luaL_Reg *m = methods; m->name; m++) {
    if (strcmp(m->name, name)) continue;
    lua_pushcfunction(L, m->func);
    return 1;
  }
  request_push_fields(L, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}
