/* The decisions of src/oauth that no public call reaches one by one: forms, members of JSON objects, the
 * choice of a token. */
#include "base/err.h"
#include "bind/lua/versions.h"
#include "oauth/authorize.h"
#include "oauth/form.h"
#include "base/json_object.h"
#include "oauth/reply.h"
#include "oauth/token.h"

/* Its own buffer: a box of the core belongs to the core. */
static int push(lua_State *L, struct buf *text, bool found) {
  if (found)
    lua_pushlstring(L, buf_text(text), text->size);
  else
    lua_pushnil(L);
  buf_free(text);
  return 1;
}

static struct bytes bytes_at(lua_State *L, int index) {
  size_t size;
  const char *data = luaL_checklstring(L, index, &size);
  return (struct bytes){(const unsigned char *)data, size};
}

/* form{ { name, value }, ... } -> text */
static int l_form(lua_State *L) {
  struct buf out = BUF_INIT;
  for (lua_Integer i = 1; i <= luaL_len(L, 1); i++) {
    lua_geti(L, 1, i);
    lua_geti(L, -1, 1);
    lua_geti(L, -2, 2);
    form_add(&out, luaL_checkstring(L, -2), lua_isnil(L, -1) ? (struct bytes){NULL, 0} : bytes_at(L, -1));
    lua_pop(L, 3);
  }
  return push(L, &out, true);
}

/* field(form, name) -> value, or nil; nil, err, kind when it stands there twice */
static int l_field(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes form = bytes_at(L, 1);
  struct buf value = BUF_INIT;
  bool found = form_field(form, luaL_checkstring(L, 2), &value, &e);
  push(L, &value, found && !e.kind);
  if (!e.kind) return 1;
  lua_pushstring(L, e.message);
  lua_pushstring(L, kind_name(e.kind));
  return 3;
}

/* text(object, name) -> value or nil */
static int l_text(lua_State *L) {
  struct bytes object = bytes_at(L, 1);
  struct buf value = BUF_INIT;
  bool found = object_text(object, luaL_checkstring(L, 2), &value);
  return push(L, &value, found);
}

static int l_number(lua_State *L) {
  lua_pushnumber(L, object_number(bytes_at(L, 1), luaL_checkstring(L, 2)));
  return 1;
}

static int l_whole(lua_State *L) {
  lua_pushboolean(L, object_whole(bytes_at(L, 1)));
  return 1;
}

/* claims(token) -> JSON text or nil */
static int l_claims(lua_State *L) {
  struct bytes token = bytes_at(L, 1);
  struct buf json = BUF_INIT;
  bool found = reply_claims(&json, token);
  return push(L, &json, found);
}

static double number(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  double value = luaL_optnumber(L, -1, 0);
  lua_pop(L, 1);
  return value;
}

static bool flag(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* choose{ access, refresh, rejected, expires_at, saved_at, ends, mono, wall } -> "use", "refresh" or "login"
 */
static int l_choose(lua_State *L) {
  static const char *const names[] = {"use", "refresh", "login"};
  struct token t = {
      .expires_at = number(L, "expires_at"), .saved_at = number(L, "saved_at"), .ends = number(L, "ends")};
  struct now now = {number(L, "mono"), number(L, "wall")};
  if (flag(L, "access")) buf_text_add(&t.access, "a");
  if (flag(L, "refresh")) buf_text_add(&t.refresh, "r");
  lua_pushstring(L, names[token_choose(&t, &now, bytes_of(flag(L, "rejected") ? "a" : NULL))]);
  token_free(&t);
  return 1;
}

static const luaL_Reg functions[] = {{"form", l_form},     {"field", l_field}, {"text", l_text},
                                     {"number", l_number}, {"whole", l_whole}, {"claims", l_claims},
                                     {"choose", l_choose}, {NULL, NULL}};

__attribute__((visibility("default"))) int luaopen_probe_oauth(lua_State *L);

int luaopen_probe_oauth(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
