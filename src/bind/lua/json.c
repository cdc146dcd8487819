#include "bind/lua/json.h"

#include "base/json_object.h"
#include "bind/lua/value.h"

/* ---- reading ---- */

bool json_decode(lua_State *L, struct bytes text, const char *ids, struct err *e) {
  struct arena *a = push_arena(L);
  int box = lua_gettop(L);
  a->left += JSON_GROWTH * text.size;
  const struct node *value = json_read(a, text, NULL);
  bool out_of_memory = a->failed;
  if (value) push_reply_value(L, value, ids);
  box_close(L, box);
  lua_remove(L, box);
  if (out_of_memory) return err_out_of_memory(e);
  return value || err_set(e, KIND_protocol, "the reply is not JSON that can be read");
}

static int l_json_decode(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (!json_decode(L, check_bytes(L, 1), luaL_optstring(L, 2, NULL), &e)) return push_failure(L, &e);
  return 1;
}

/* core.json_member(text, name) -> the text of a member's value in the text of an object, or nothing */
static int l_json_member(lua_State *L) {
  struct bytes value = object_member(check_bytes(L, 1), luaL_checkstring(L, 2));
  if (!value.data) return 0;
  lua_pushlstring(L, (const char *)value.data, value.size);
  return 1;
}

/* core.json_fault(text) -> what was expected, how many bytes before it are good; nothing where it reads */
static int l_json_fault(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  struct json_fault fault;
  bool reads = json_read(push_arena(L), text, &fault);
  box_close(L, -1);
  if (reads) return 0;
  lua_pushstring(L, fault.expected);
  lua_pushinteger(L, (lua_Integer)fault.at);
  return 2;
}

/* ---- writing ---- */

void json_encode(lua_State *L, int index, struct buf *out, const char *lists) {
  struct json_refusal why;
  index = lua_absindex(L, index);
  struct arena *a = push_arena(L);
  if (!json_write(value_at(L, index, a), lists, out, &why)) {
    lua_pushlstring(L, (const char *)why.what.data, why.what.size);
    lua_pushlstring(L, (const char *)why.name.data, why.name.size);
    usage_error(L, "%s cannot be written as JSON (in '%s')", lua_tostring(L, -2), lua_tostring(L, -1));
  }
  box_close(L, -1);
  lua_pop(L, 1);
}

static int l_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  const char *lists = luaL_optstring(L, 2, NULL);
  struct buf *out = push_scratch(L);
  json_encode(L, 1, out, lists);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

/* ---- opening ---- */

void open_json(lua_State *L) {
  static const luaL_Reg functions[] = {{"json_decode", l_json_decode},
                                       {"json_encode", l_json_encode},
                                       {"json_member", l_json_member},
                                       {"json_fault", l_json_fault},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
