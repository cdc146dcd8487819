/* Requests that no row's method plans: one that another program planned, for a proxy: the row's verb and path
 * with checked values in their places, the caller's query written anew, and the body as it came. */
#include "bind/call/call_options.h"
#include "bind/call/params.h"
#include "http/query.h"

#include <string.h>

static void add_value(struct plan *p, int values, const char *name, size_t size) {
  const struct param *q = param_named(p->row, name, size);
  if (!q) luaL_error(p->L, "row %s: no parameter for a placeholder", p->row->name);
  if (lua_getfield(p->L, values, q->name) == LUA_TNIL) call_usage_error(p, "'%s' is missing", q->name);
  struct buf *text = push_scratch(p->L);
  plain_text(p, q, lua_gettop(p->L) - 1, text);
  buf_percent(&p->request->target, buf_bytes(text));
  box_close(p->L, -1);
  lua_pop(p->L, 2);
}

static void add_places(struct plan *p, int values) {
  for (const char *at = p->row->path; *at;) {
    size_t plain = strcspn(at, "{");
    buf_add(&p->request->target, at, plain);
    at += plain;
    if (!*at) return;
    size_t size = strcspn(++at, "}");
    add_value(p, values, at, size);
    at += size + 1;
  }
}

static void add_query_of(struct plan *p, struct bytes query) {
  if (!query.size) return;
  buf_put(&p->request->target, '?');
  if (!query_rewrite(query, &p->request->target)) call_usage_error(p, "the query is badly encoded");
}

static double seconds_at(lua_State *L, int index) {
  double seconds = luaL_checknumber(L, index);
  luaL_argcheck(L, seconds > 0 && seconds <= 86400, index, "seconds, above 0, at most 86400");
  return seconds;
}

/* core.forward(row, { placeholder = value }, query, body or nil, seconds) -> request; its result is the
 * reply's body. Raises for a value that cannot stand in the path and for a query that is badly encoded. */
static int l_forward(lua_State *L) {
  struct plan p = {.L = L, .row = row_at(L, 1), .separator = ""};
  luaL_checktype(L, 2, LUA_TTABLE);
  struct bytes query = check_bytes(L, 3);
  double seconds = seconds_at(L, 5);
  p.request = request_new(L, p.row);
  p.box = lua_gettop(L);
  p.request->raw = p.request->force = p.request->written = true;
  p.request->timeout = seconds;
  p.request->idempotent = p.row->flags & ROW_IDEMPOTENT || !request_is_write(p.request);
  add_places(&p, 2);
  add_query_of(&p, query);
  if (!lua_isnil(L, 4)) {
    struct bytes body = check_bytes(L, 4);
    p.request->has_body = true;
    buf_add(&p.request->body, body.data, body.size);
  }
  if (!buf_ok(&p.request->target) || !buf_ok(&p.request->body)) luaL_error(L, "out of memory");
  lua_settop(L, p.box);
  return 1;
}

/* ---- a call without a row ---- */

#define ANY(verb_, flags_)                                                                                   \
  {                                                                                                          \
    .name = "request", .handle = "client", .method = "request", .verb = verb_, .path = "",                   \
    .value = VALUE_ANY, .flags = flags_                                                                      \
  }
static const struct row any_rows[] = {ANY("GET", 0), ANY("POST", 0), ANY("DELETE", 0)};

/* Below the base address, and nothing that would end or change it. */
static bool is_target(struct bytes path) {
  if (!path.size || path.data[0] != '/') return false;
  for (size_t i = 0; i < path.size; i++)
    if (path.data[i] <= ' ' || path.data[i] >= 0x7F || strchr("#<>\"\\^`{|}", path.data[i])) return false;
  return true;
}

/* core.any_request("GET" | "POST" | "DELETE", path with its query, body or nil, { timeout =, auth =,
 * idempotent =, raw = }) -> request */
static int l_any_request(lua_State *L) {
  static const char *const verbs[] = {"GET", "POST", "DELETE", NULL};
  const struct row *row = &any_rows[luaL_checkoption(L, 1, NULL, verbs)];
  struct bytes path = check_bytes(L, 2);
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_settop(L, 4);
  struct plan p = {.L = L, .row = row, .separator = "", .options = 4};
  if (!is_target(path)) call_usage_error(&p, "the path must begin with '/' and be percent-encoded");
  p.request = request_new(L, row);
  p.box = lua_gettop(L);
  p.request->written = true;
  buf_add(&p.request->target, path.data, path.size);
  if (!lua_isnil(L, 3)) {
    struct bytes body = check_bytes(L, 3);
    p.request->has_body = true;
    buf_add(&p.request->body, body.data, body.size);
  }
  if (!buf_ok(&p.request->target) || !buf_ok(&p.request->body)) luaL_error(L, "out of memory");
  read_call_options(&p);
  lua_settop(L, p.box);
  return 1;
}

void open_forward(lua_State *L) {
  static const luaL_Reg functions[] = {{"forward", l_forward}, {"any_request", l_any_request}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
