#include "bind/lua/members.h"

#include <math.h>
#include <string.h>

void push_buf(lua_State *L, const struct buf *b) {
  if (!buf_ok(b)) luaL_error(L, "out of memory");
  lua_pushlstring(L, buf_text(b), b->size);
}

void push_name_list(lua_State *L, const struct buf *texts) {
  lua_Integer count = 0;
  lua_newtable(L);
  for (size_t at = 0; buf_ok(texts) && at < texts->size; at += strlen((const char *)texts->data + at) + 1) {
    lua_pushstring(L, (const char *)texts->data + at);
    lua_rawseti(L, -2, ++count);
  }
}

void list_append(lua_State *L, int list) {
  list = lua_absindex(L, list);
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

void set_text(lua_State *L, const char *name, const char *text) {
  if (!text) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

void set_bytes(lua_State *L, const char *name, struct bytes value) {
  lua_pushlstring(L, (const char *)value.data, value.size);
  lua_setfield(L, -2, name);
}

void set_buf(lua_State *L, const char *name, const struct buf *text) {
  if (!text->size) return;
  push_buf(L, text);
  lua_setfield(L, -2, name);
}

void set_boolean(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

void set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

bool flag_member(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

double number_member(lua_State *L, int index, const char *name, double fallback) {
  lua_getfield(L, index, name);
  double value = luaL_optnumber(L, -1, fallback);
  lua_pop(L, 1);
  return value;
}

void push_number(lua_State *L, double value) {
  if (value == floor(value) && fabs(value) < 9007199254740992.0)
    lua_pushinteger(L, (lua_Integer)value);
  else
    lua_pushnumber(L, value);
}

void set_number(lua_State *L, const char *name, double value) {
  push_number(L, value);
  lua_setfield(L, -2, name);
}
