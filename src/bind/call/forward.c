/* Two kinds of requests that core.plan does not make. The proxy forwards a request of another program: the
 * verb and the path come from the row, the query is decoded and encoded again, the body is passed on
 * unchanged. client:request sends a path without a row. */
#include "bind/call/arguments.h"
#include "bind/call/handles.h"
#include "bind/call/request.h"
#include "http/query.h"

#include <string.h>

/* The body that the caller wrote, or none. */
static void take_body(lua_State *L, int index, struct request *request) {
  if (lua_isnil(L, index)) return;
  struct bytes body = check_bytes(L, index);
  request->has_body = true;
  buf_add(&request->body, body.data, body.size);
}

static double seconds_at(lua_State *L, int index) {
  double seconds = luaL_checknumber(L, index);
  luaL_argcheck(L, seconds > 0 && seconds <= 86400, index, "seconds, above 0, at most 86400");
  return seconds;
}

/* core.forward(row, { placeholder = value }, query, body or nil, seconds) -> request; its result is the
 * reply's body. Raises for a value that is invalid in the path and for a query that is badly encoded. */
static int l_forward(lua_State *L) {
  enum { VALUES = 2, QUERY, BODY, SECONDS, REQUEST };
  const struct row *row = row_at(L, 1);
  luaL_checktype(L, VALUES, LUA_TTABLE);
  struct bytes query = check_bytes(L, QUERY);
  double seconds = seconds_at(L, SECONDS);
  lua_settop(L, SECONDS);
  struct request *request = request_new(L, row);
  struct arguments *a = request_arguments(L, request);
  request->options.raw = request->options.force = true;
  request->options.timeout = seconds;
  request->options.idempotent = row->flags & ROW_IDEMPOTENT || !row_is_write(row);
  a->path = arguments_value(L, VALUES, a);
  write_path(a, &request->target);
  if (query.size) {
    buf_put(&request->target, '?');
    if (!query_rewrite(query, &request->target)) mistake(a, "the query is badly encoded");
  }
  take_body(L, BODY, request);
  request_written(L, request);
  lua_settop(L, REQUEST);
  return 1;
}

/* ---- a call without a row ---- */

#define ANY(verb_, flags_)                                                                                   \
  {                                                                                                          \
    .name = "request", .handle = "client", .method = "request", .verb = verb_, .path = "",                   \
    .value = VALUE_ANY, .flags = flags_                                                                      \
  }
static const struct row any_rows[] = {ANY("GET", 0), ANY("POST", 0), ANY("DELETE", 0)};

/* Whether it is a path below the base address, without characters that could end the request line or change
 * the address. */
static bool is_target(struct bytes path) {
  if (!path.size || path.data[0] != '/') return false;
  for (size_t i = 0; i < path.size; i++)
    if (path.data[i] <= ' ' || path.data[i] >= 0x7F || strchr("#<>\"\\^`{|}", path.data[i])) return false;
  return true;
}

/* core.any_request("GET" | "POST" | "DELETE", path with its query, body or nil, { timeout =, auth =,
 * idempotent =, raw = }) -> request */
static int l_any_request(lua_State *L) {
  enum { VERB = 1, PATH, BODY, OPTIONS, REQUEST };
  static const char *const verbs[] = {"GET", "POST", "DELETE", NULL};
  const struct row *row = &any_rows[luaL_checkoption(L, VERB, NULL, verbs)];
  struct bytes path = check_bytes(L, PATH);
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  lua_settop(L, OPTIONS);
  struct request *request = request_new(L, row);
  struct arguments *a = request_arguments(L, request);
  if (!is_target(path)) mistake(a, "the path must begin with '/' and be percent-encoded");
  buf_add(&request->target, path.data, path.size);
  take_body(L, BODY, request);
  arguments_options(L, OPTIONS, a);
  read_call_options(a, &request->options);
  request_written(L, request);
  lua_settop(L, REQUEST);
  return 1;
}

void open_forward(lua_State *L) {
  static const luaL_Reg functions[] = {{"forward", l_forward}, {"any_request", l_any_request}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
