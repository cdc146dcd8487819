#include "bind/call/request.h"
#include "bind/http/loop.h"
#include "bind/lua/secret.h"

#include <string.h>

enum {
  MOST_HEADERS = 32,
  ONCE_IDLE_SECONDS = 10 /* a server may be about to end a connection that is idle for longer */
};

struct outgoing { /* what one submit needs; everything points into Lua strings or scratch buffers on the stack
                   */
  struct http_request r;
  const char *headers[MOST_HEADERS + 1];
  int count;
  char url[512]; /* where it fits */
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

struct settings { /* texts stand in a table of its own, a user value */
  double connect_timeout;
  size_t max_response;
  bool http2;
  const char *ca_file, *unix_path, *proxy, *agent_line;
};
enum { SETTINGS_TABLE = 1 };

static const struct box_type settings_type = {"fleet.settings", NULL, NULL, NULL};

/* The caller's table may change while the texts are in use. */
static void push_texts(lua_State *L) {
  static const char *const names[] = {"ca_file", "unix_path", "proxy", "agent_line"};
  lua_createtable(L, 0, 4);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (lua_getfield(L, 1, names[i]) != LUA_TNIL) luaL_checkstring(L, -1); /* a number becomes text here */
    lua_setfield(L, -2, names[i]);
  }
}

/* core.settings{ connect_timeout =, max_response =, ca_file =, unix_path =, proxy =, http2 =, agent_line = }
 */
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
  *box = s; /* it holds nothing that could be let go, and is never open */
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, SETTINGS_TABLE);
  return 1;
}

void open_settings(lua_State *L) {
  box_define(L, &settings_type);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_settings);
  lua_setfield(L, -2, "settings");
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

/* ---- requests ---- */

/* Its promise's place in the table is made first: once the request is on its way nothing may fail. The names
 * are members that every promise has. */
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

/* No secret stands in an address. */
static const char *address(lua_State *L, struct outgoing *o, const char *base, const struct buf *target) {
  size_t size = strlen(base);
  if (size + target->size >= sizeof o->url) return lua_pushfstring(L, "%s%s", base, buf_text(target));
  memcpy(o->url, base, size);
  memcpy(o->url + size, buf_text(target), target->size + 1);
  return o->url;
}

/* loop:submit(promise, request, base, authorization line or nil, settings, timeout) -> true, or nil, err,
 * kind */
int loop_l_submit(lua_State *L) {
  check_loop(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct outgoing o = {0};
  const struct request *request = check_written(L, 3);
  lua_settop(L, 7); /* what is left out is nil, not what is pushed below */
  o.r.method = request->row->verb;
  o.r.http2 = take_settings(L, 6, &o)->http2 && !request_is_write(request);
  if (request_is_write(request) && !request->idempotent) o.r.idle_limit = ONCE_IDLE_SECONDS;
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
int loop_l_submit_raw(lua_State *L) {
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
