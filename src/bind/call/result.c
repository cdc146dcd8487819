#include "call/result.h"

#include "bind/call/reply.h"
#include "bind/call/request.h"
#include "bind/lua/value.h"
#include "http/other_host.h"

#include <string.h>

/* ---- core.result(request, reply, wall, state, proxied) -> value ----
 * or nil, err, kind, transient, trait */

static enum vehicle_state state_named(const char *name) {
  if (strcmp(name, "online") == 0) return STATE_ONLINE;
  if (strcmp(name, "asleep") == 0) return STATE_ASLEEP;
  return strcmp(name, "offline") == 0 ? STATE_OFFLINE : STATE_UNKNOWN;
}

static const struct http_response *check_response(lua_State *L, int index) {
  return ((struct reply *)box_check(L, index, &reply_type))->response;
}

static int l_result(lua_State *L) {
  static const char *const traits[] = {NULL, "by_state", "sign", "plain", "proxy"};
  const struct request *request = box_check(L, 1, &request_type);
  const struct http_response *response = check_response(L, 2);
  struct asked asked = {.row = request->row,
                        .name = request_name(request),
                        .strict = request->options.strict,
                        .raw = request->options.raw,
                        .wall = luaL_checknumber(L, 3),
                        .state = state_named(luaL_optstring(L, 4, "")),
                        .proxied = lua_toboolean(L, 5)};
  struct result result;
  struct arena *a = push_arena(L);
  int box = lua_gettop(L);
  a->left += JSON_GROWTH * response->body.size;
  if (result_read(&asked, response, a, &result)) {
    push_reply_value(L, result.value, request->row->ids);
    box_close(L, box);
    return 1;
  }
  box_close(L, box);
  push_failure(L, &result.err);
  lua_pushboolean(L, result.transient);
  lua_pushstring(L, traits[result.trait]);
  return 5;
}

/* ---- core.next(err kind, outcome, facts) -> "fail" | "refresh" | "region" | "repeat", pause in seconds ----
 */

static bool fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static double amount(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  double value = luaL_optnumber(L, -1, 0);
  lua_pop(L, 1);
  return value;
}

static int l_next(lua_State *L) {
  static const char *const names[] = {"fail", "refresh", "region", "repeat"};
  luaL_checktype(L, 3, LUA_TTABLE);
  struct verdict v = {.kind = kind_of(luaL_checkstring(L, 1)),
                      .outcome = outcome_of(luaL_optstring(L, 2, NULL)),
                      .transient = fact(L, 3, "transient"),
                      .retry_after = amount(L, 3, "retry_after")};
  struct history h = {.write = fact(L, 3, "write"),
                      .idempotent = fact(L, 3, "idempotent"),
                      .own_token = fact(L, 3, "own_token"),
                      .other_host = fact(L, 3, "other_host"),
                      .refreshes = (int)amount(L, 3, "refreshes"),
                      .regions = (int)amount(L, 3, "regions"),
                      .repeats = (int)amount(L, 3, "repeats"),
                      .left = amount(L, 3, "left")};
  double wait = 0;
  lua_pushstring(L, names[outcome_next(&v, &h, &wait)]);
  lua_pushnumber(L, wait);
  return 2;
}

/* ---- hosts ---- */

/* The list of hosts at this index, ended by NULL; pushes what holds it. */
static const char *const *push_hosts(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  size_t count = (size_t)lua_rawlen(L, index);
  const char **hosts = lua_newuserdatauv(L, (count + 1) * sizeof *hosts, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i + 1);
    hosts[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  hosts[count] = NULL;
  return hosts;
}

/* core.other_host(reply, hosts) -> the base address that a 421 names, if one of the hosts accepts it; see
 * outcome.h */
static int l_other_host(lua_State *L) {
  const struct http_response *r = check_response(L, 1);
  const char *const *hosts = push_hosts(L, 2);
  struct arena *a = push_arena(L);
  struct buf *base_url = push_scratch(L);
  struct bytes text = result_error_text(a, buf_bytes(&r->body));
  if (!other_host_named(buf_bytes(&r->headers), text, hosts, base_url)) return 0;
  push_buf(L, base_url);
  return 1;
}

/* core.accepted_host(address, hosts) -> its base address, if one of the hosts accepts it; see outcome.h */
static int l_accepted_host(lua_State *L) {
  struct bytes address = check_bytes(L, 1);
  const char *const *hosts = push_hosts(L, 2);
  struct buf *base_url = push_scratch(L);
  if (!other_host_accepted(address, hosts, base_url)) return 0;
  push_buf(L, base_url);
  return 1;
}

void open_result(lua_State *L) {
  static const luaL_Reg functions[] = {{"result", l_result},
                                       {"next", l_next},
                                       {"other_host", l_other_host},
                                       {"accepted_host", l_accepted_host},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
