#include "bind/call/request.h"

#include "bind/call/arguments.h"
#include "bind/call/handles.h"

#include <stdlib.h>
#include <string.h>

static void drop_arguments(struct request *r) {
  if (r->arena) arena_end(r->arena);
  free(r->arena);
  r->arena = NULL;
  buf_free(&r->error);
}

static void release_request(void *object) {
  struct request *r = object;
  drop_arguments(r);
  buf_free(&r->target);
  buf_free(&r->body);
}

static int l_tostring(lua_State *L) {
  const struct request *r = box_any(L, 1, &request_type);
  lua_pushfstring(L, "fleet.request (%s %s)", r->row->verb, r->row->path);
  return 1;
}

static struct request *check_request(lua_State *L) {
  return box_check(L, 1, &request_type);
}

/* request:flag(name): an option of the call, or whether it may be repeated ("idempotent") */
static int l_flag(lua_State *L) {
  const struct request *r = check_request(L);
  static const char *const names[] = {"wake", "idempotent", "strict", "raw", "force", "read_back", NULL};
  const struct call_options *o = &r->options;
  const bool values[] = {o->wake, o->idempotent, o->strict, o->raw, o->force, o->read_back};
  lua_pushboolean(L, values[luaL_checkoption(L, 2, NULL, names)]);
  return 1;
}

/* request:settings(handle or nil) -> timeout or nil, whether it may be repeated, the token kind that was
 * asked for or nil, the handle's context, its id or nil */
static int l_settings(lua_State *L) {
  const struct request *r = check_request(L);
  lua_settop(L, 2);
  if (r->options.timeout > 0)
    lua_pushnumber(L, r->options.timeout);
  else
    lua_pushnil(L);
  lua_pushboolean(L, r->options.idempotent);
  lua_pushstring(L, token_kind_names[r->options.token_kind]);
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

struct arguments *request_arguments(lua_State *L, struct request *r) {
  enum { MOST_BYTES = 1 << 27 };
  r->arena = malloc(sizeof *r->arena);
  if (!r->arena) luaL_error(L, "out of memory");
  arena_start(r->arena, MOST_BYTES);
  arguments_start(L, r->row, r->arena, &r->error, &r->arguments);
  return &r->arguments;
}

void request_written(lua_State *L, struct request *r) {
  if (r->arena) arguments_check(L, &r->arguments);
  if (!buf_ok(&r->target) || !buf_ok(&r->body)) luaL_error(L, "out of memory");
  r->written = true;
  if (!r->row->message) drop_arguments(r);
}

const struct request *check_written(lua_State *L, int index) {
  struct request *r = box_check(L, index, &request_type);
  if (r->written) return r;
  buf_clear(&r->target);
  buf_clear(&r->body);
  write_path(&r->arguments, &r->target);
  r->query_follows = write_content(&r->arguments, &r->target, &r->body, &r->has_body);
  request_written(L, r);
  return r;
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

static const luaL_Reg metamethods[] = {{"__tostring", l_tostring}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"flag", l_flag},   {"settings", l_settings}, {"params", l_params},
                                   {"query", l_query}, {"table", l_table},       {NULL, NULL}};
const struct box_type request_type = {"fleet.request", release_request, methods, metamethods};

struct request *request_new(lua_State *L, const struct row *row) {
  struct request *r = box_new(L, &request_type, sizeof *r, 1);
  box_open(L, -1);
  r->row = row;
  return r;
}

void open_request(lua_State *L) {
  box_define(L, &request_type);
  lua_pop(L, 1);
}
