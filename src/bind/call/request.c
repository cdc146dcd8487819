#include "bind/call/handles.h"
#include "bind/call/request.h"

#include <string.h>

static struct request *check_request(lua_State *L) {
  return box_check(L, 1, &request_type);
}

/* request:flag(name): an option of the call, or whether it may be repeated ("idempotent") */
static int l_flag(lua_State *L) {
  const struct request *r = check_request(L);
  static const char *const names[] = {"wake", "idempotent", "strict", "raw", "force", "read_back", NULL};
  const bool values[] = {r->wake, r->idempotent, r->strict, r->raw, r->force, r->read_back};
  lua_pushboolean(L, values[luaL_checkoption(L, 2, NULL, names)]);
  return 1;
}

/* request:settings(handle or nil) -> timeout or nil, whether it may be repeated, the token kind that was
 * asked for or nil, the handle's context, its id or nil */
static int l_settings(lua_State *L) {
  const struct request *r = check_request(L);
  lua_settop(L, 2);
  if (r->timeout > 0)
    lua_pushnumber(L, r->timeout);
  else
    lua_pushnil(L);
  lua_pushboolean(L, r->idempotent);
  lua_pushstring(L, token_kind_names[r->token_kind]);
  if (lua_isnil(L, 2)) return 3;
  handle_push_both(L, 2);
  return 5;
}

static int l_params(lua_State *L) {
  check_request(L);
  lua_getiuservalue(L, 1, REQUEST_PARAMS);
  return 1;
}

/* request:query(text): replaces what the last such call added to the query, for the walk over pages */
static int l_query(lua_State *L) {
  struct request *r = check_request(L);
  struct bytes text = check_bytes(L, 2);
  if (!r->planned) r->planned = r->target.size;
  r->target.size = r->planned;
  buf_put(&r->target, r->query_follows ? '&' : '?');
  buf_add(&r->target, text.data, text.size);
  return 0;
}

/* request:table(base, authorization line or nil) -> { method, url, headers = { name = value }, body } for a
 * host's own HTTP */
static int l_table(lua_State *L) {
  const struct request *r = check_written(L, 1);
  static const char line[] = "Authorization: ";
  const char *base = luaL_checkstring(L, 2), *authorization = luaL_optstring(L, 3, NULL);
  lua_newtable(L);
  set_text(L, "method", r->row->verb);
  lua_pushfstring(L, "%s%s", base, buf_text(&r->target));
  lua_setfield(L, -2, "url");
  lua_createtable(L, 0, 2);
  set_text(L, "content-type", "application/json");
  if (authorization) {
    luaL_argcheck(L, strncmp(authorization, line, strlen(line)) == 0, 3, "header line expected");
    set_text(L, "authorization", authorization + strlen(line));
  }
  lua_setfield(L, -2, "headers");
  if (r->has_body) {
    push_buf(L, &r->body);
    lua_setfield(L, -2, "body");
  }
  return 1;
}

static const luaL_Reg request_methods[] = {{"flag", l_flag},   {"settings", l_settings}, {"params", l_params},
                                           {"query", l_query}, {"table", l_table},       {NULL, NULL}};
void open_request(lua_State *L) {
  box_define(L, &request_type);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, request_methods, 0);
  lua_pop(L, 2);
}
