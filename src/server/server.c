#include "server/server.h"

#include <microhttpd.h>
#include <string.h>

enum { ROUNDS = 8 /* of requests in one step; the rest waits for the next step */ };

/* ---- boxes ---- */

static void release_server(void *object) {
  daemon_close(&((struct server *)object)->daemon);
}

static int l_close(lua_State *L);
static int l_step(lua_State *L);
static int l_port(lua_State *L);
static int l_quiet(lua_State *L);
static int l_address(lua_State *L);
static int l_connections(lua_State *L);

static const luaL_Reg server_methods[] = {{"close", l_close},
                                          {"step", l_step},
                                          {"port", l_port},
                                          {"quiet", l_quiet},
                                          {"connections", l_connections},
                                          {"address", l_address},
                                          {NULL, NULL}};
static const luaL_Reg server_metamethods[] = {{"__close", l_close}, {NULL, NULL}};
static const struct box_type server_type = {"fleet.server", release_server, server_methods,
                                            server_metamethods};

static struct server *check_server(lua_State *L, int index) {
  struct server *s = box_check(L, index, &server_type);
  if (daemon_forked(&s->daemon)) luaL_error(L, "fleet.server was created before fork: make a new server");
  return s;
}

/* ---- the loop's side ---- */

/* server, its object -> nothing. A handler that fails has answered 500. */
static int l_handle(lua_State *L) {
  struct server *s = lua_touserdata(L, 2);
  lua_settop(L, 1);
  struct request *r = request_push(L, s);
  if (!r) return 0;
  bool head = exchange_is_head(r->exchange);
  lua_getiuservalue(L, 1, head ? HOLDS_HEAD_HANDLER : HOLDS_HANDLER);
  lua_pushvalue(L, 2);
  request_push_fields(L, 2);
  if (lua_pcall(L, 2, 0, 0) == LUA_OK) {
    if (head && !r->answered) exchange_read_body(r->exchange);
    r->answered = r->answered || head;
    return 0;
  }
  struct MHD_Response *sorry =
      r->answered ? NULL : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
  if (sorry) exchange_respond(r->exchange, 500, sorry, 0);
  r->answered = true;
  return lua_error(L);
}

/* The server is at index 1; the first error stays on the stack. */
static void serve_queue(lua_State *L, struct server *s) {
  while (box_is_open(L, 1) && s->daemon.first) {
    lua_pushcfunction(L, l_handle);
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, s);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK && lua_gettop(L) > 2) lua_pop(L, 1);
  }
}

static int step(lua_State *L, struct server *s) {
  lua_settop(L, 1);
  s->depth++;
  s->answered = false;
  bool served = false;
  for (int round = 0; round < ROUNDS && box_is_open(L, 1); round++) {
    daemon_run(&s->daemon);
    served = s->daemon.first != NULL;
    if (!served) break;
    serve_queue(L, s);
  }
  s->depth--;
  if (box_is_open(L, 1) && (served || s->daemon.left)) server_run(s);
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

/* server:address() -> numeric address of the listening socket, nil for a Unix socket */
static int l_address(lua_State *L) {
  const struct listener *l = &check_server(L, 1)->daemon.listener;
  lua_pushstring(L, l->host[0] ? l->host : NULL);
  return 1;
}

static int l_port(lua_State *L) {
  lua_pushinteger(L, check_server(L, 1)->daemon.listener.port);
  return 1;
}

/* server:quiet() stops listening; server:connections() -> how many there are */
static int l_quiet(lua_State *L) {
  daemon_quiet(&check_server(L, 1)->daemon);
  return 0;
}

static int l_connections(lua_State *L) {
  lua_pushinteger(L, check_server(L, 1)->daemon.count);
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

static double seconds_option(lua_State *L, const char *name, double fallback) {
  lua_getfield(L, 1, name);
  double value = lua_isnil(L, -1) ? fallback : lua_isnumber(L, -1) ? lua_tonumber(L, -1) : 0;
  if (!(value > 0 && value <= 86400)) luaL_error(L, "option '%s' is seconds, above 0, at most 86400", name);
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
  lua_pushinteger(L, ((struct server *)box_check(L, server, &server_type))->daemon.poller.fd);
  lua_pushliteral(L, "r");
  lua_pushvalue(L, server);
  lua_pushcclosure(L, l_ready, 1);
  if (lua_pcall(L, 4, 1, 0) != LUA_OK) {
    box_close(L, server);
    lua_error(L);
  }
  lua_setiuservalue(L, server, HOLDS_WATCH);
}

struct location {
  const char *host, *path;
  int port, fd; /* fd: a socket that another program opened, 0: none */
  int shared;   /* where on the stack a server is whose place it takes over, or 0 */
};

static bool listen_on(lua_State *L, struct listener *l, const struct location *p, struct err *e) {
  if (p->shared) return daemon_share(&check_server(L, p->shared)->daemon, l, e);
  if (p->fd) return listener_adopt(l, p->fd, e);
  return p->path ? listener_unix(l, p->path, e) : listener_tcp(l, p->host, p->port, e);
}

static struct location read_place(lua_State *L) { /* its texts stay on the stack */
  struct location p = {.port = (int)integer_option(L, "port", 0, 65535),
                       .fd = (int)integer_option(L, "fd", 0, 1 << 20)};
  if (lua_getfield(L, 1, "takes_over") != LUA_TNIL) check_server(L, -1), p.shared = lua_gettop(L);
  p.host = string_option(L, "host", "127.0.0.1");
  p.path = string_option(L, "unix", NULL);
  return p;
}

static struct limits read_limits(lua_State *L) {
  double timeout = seconds_option(L, "timeout", 60);
  size_t max_body = (size_t)integer_option(L, "max_body", 65536, 1 << 30);
  size_t bodies = (size_t)integer_option(L, "max_bodies", 16777216, 1 << 30);
  return (struct limits){max_body, bodies > max_body ? bodies : max_body,
                         (unsigned)integer_option(L, "max_connections", 1000, 1000000), timeout,
                         seconds_option(L, "arrival", timeout)};
}

static struct tls read_tls(lua_State *L) { /* its texts stay on the stack */
  struct tls t = {string_option(L, "certificate", NULL), string_option(L, "certificate_key", NULL),
                  string_option(L, "client_ca", NULL)};
  if (!t.certificate != !t.key) luaL_error(L, "options 'certificate' and 'certificate_key' belong together");
  if (t.trust && !t.certificate) luaL_error(L, "option 'client_ca' needs 'certificate'");
  return t;
}

static bool open_daemon(lua_State *L, struct daemon *d, const struct location *p, const struct tls *t,
                        struct err *e) {
  d->listener.backlog = 4096; /* clients behind a silent crowd keep their places; the system bounds it */
  d->asks_certificates = t->trust != NULL;
  return listen_on(L, &d->listener, p, e) && daemon_open(d, t, e);
}

/* server.new { loop =, on_request =, host = "127.0.0.1", port = 0, unix = nil, fd = nil, takes_over = nil,
 *              max_body = 65536, max_bodies = 16777216, max_connections = 1000, timeout = 60, arrival =
 * timeout, certificate = nil, certificate_key = nil, client_ca = nil } -> server | nil, err, kind */
static int l_new(lua_State *L) {
  static const char *const names[] = {"loop",
                                      "on_request",
                                      "host",
                                      "port",
                                      "unix",
                                      "fd",
                                      "takes_over",
                                      "max_body",
                                      "max_bodies",
                                      "on_head",
                                      "max_connections",
                                      "timeout",
                                      "arrival",
                                      "certificate",
                                      "certificate_key",
                                      "client_ca"};
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_option_names(L, 1, names, sizeof names / sizeof *names);
  check_loop(L);
  struct limits limits = read_limits(L);
  struct location place = read_place(L);
  struct tls tls = read_tls(L);
  struct server *s = box_new(L, &server_type, sizeof *s, SERVER_VALUES);
  int server = lua_gettop(L);
  s->daemon.limits = limits;
  if (!open_daemon(L, &s->daemon, &place, &tls, &e)) return push_failure(L, &e);
  box_open(L, server);
  lua_getfield(L, 1, "on_request");
  lua_setiuservalue(L, server, HOLDS_HANDLER);
  s->daemon.asks_heads = lua_getfield(L, 1, "on_head") != LUA_TNIL;
  lua_setiuservalue(L, server, HOLDS_HEAD_HANDLER);
  watch(L, server);
  if (place.shared && box_is_open(L, place.shared))
    daemon_hand_over(&check_server(L, place.shared)->daemon, &s->daemon);
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
  box_define(L, &server_request_type);
  luaL_newlib(L, functions);
  return 1;
}
