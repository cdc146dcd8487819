#include "server/server.h"

#include <microhttpd.h>
#include <string.h>

/* ---- headers ---- */

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

void reply_headers_check(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) check_header(L);
}

/* Everything has been checked: nothing raises while the response is ours. */
void reply_headers_add(lua_State *L, int index, struct MHD_Response *r) {
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

/* ---- replies that are given often ---- */

/* Their headers are checked and their response is built once. */
static void release_reply(void *object) {
  struct reply *r = object;
  if (r->kept) kept_release(r->kept);
}

const struct box_type server_reply_type = {"fleet.server.reply", release_reply, NULL, NULL};

static struct MHD_Response *build(lua_State *L, struct bytes body, bool closes) {
  struct MHD_Response *r =
      MHD_create_response_from_buffer(body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
  if (!r) return NULL;
  reply_headers_add(L, 2, r);
  if (closes) MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
  return r;
}

/* server.reply(status, headers, body) -> what request:respond takes in place of the three */
int server_l_reply(lua_State *L) {
  lua_Integer status = luaL_checkinteger(L, 1);
  luaL_argcheck(L, status >= 200 && status <= 599, 1, "a final status is 200 to 599");
  reply_headers_check(L, 2);
  struct bytes body = check_bytes(L, 3);
  struct reply *r = box_new(L, &server_reply_type, sizeof *r, 0);
  int box = lua_gettop(L);
  r->kept = kept_new((unsigned)status, build(L, body, false), build(L, body, true));
  if (!r->kept) return luaL_error(L, "out of memory");
  box_open(L, box);
  return 1;
}
