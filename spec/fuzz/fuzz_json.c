/* Any bytes as the JSON of a reply. What is read can be written again, and is
 * then read as the same, long integers lose no digit, and what is not taken leaves an error and nothing else.
 */
#include "base/json_cursor.h"
#include "base/json_object.h"
#include "bind/lua/bind.h"
#include "bind/lua/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int luaopen_fleet_core(lua_State *L);

static void require(bool fact) {
  if (!fact) abort();
}

static bool same(lua_State *L, int a, int b);

static int members(lua_State *L, int table) {
  int count = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
  return count;
}

static bool same_members(lua_State *L, int a, int b) {
  bool equal = members(L, a) == members(L, b);
  for (lua_pushnil(L); equal && lua_next(L, a); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawget(L, b);
    equal = same(L, lua_gettop(L) - 1, lua_gettop(L));
    lua_pop(L, 1);
  }
  return equal;
}

/* A fraction without a fractional part, beyond what a double counts exactly, is written as an integer. */
static bool is_long_number(lua_State *L, int number, int text) {
  return lua_type(L, number) == LUA_TNUMBER && lua_type(L, text) == LUA_TSTRING &&
         lua_tonumber(L, number) == strtod(lua_tostring(L, text), NULL);
}

static bool same(lua_State *L, int a, int b) {
  luaL_checkstack(L, 8, "same");
  if (lua_type(L, a) != lua_type(L, b)) return is_long_number(L, a, b);
  if (!lua_istable(L, a)) return lua_rawequal(L, a, b) && lua_isinteger(L, a) == lua_isinteger(L, b);
  int top = lua_gettop(L);
  bool equal = same_members(L, a, b);
  lua_settop(L, top);
  return equal;
}

/* json_encode refuses what JSON cannot say, such as a list with holes, by raising. */
static int encode(lua_State *L) {
  struct buf *out = push_scratch(L);
  json_encode(L, 1, out, NULL);
  push_buf(L, out);
  return 1;
}

static void read_again(lua_State *L) {
  size_t size;
  lua_pushcfunction(L, encode);
  lua_pushvalue(L, -2);
  require(lua_pcall(L, 1, 1, 0) == LUA_OK);
  const char *text = lua_tolstring(L, -1, &size);
  require(json_decode(L, (struct bytes){(const unsigned char *)text, size}, NULL, NULL));
  require(same(L, 1, 3));
}

static lua_State *begin_state(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "fleet.core", luaopen_fleet_core, 0);
  lua_settop(L, 0);
  return L;
}

/* What is found lies in the text. */
static void look(struct bytes text) {
  struct bytes value = object_member(text, "response");
  require(!value.data || (value.data >= text.data && value.data + value.size <= text.data + text.size));
}

/* What looks at many bytes together sees what a look at each byte sees. */
static void look_fast(struct bytes text) {
  size_t plain = 0;
  while (plain < text.size && text.data[plain] >= 0x20 && !strchr("\"\\", text.data[plain])) plain++;
  require(json_plain_run(text.data, text.data + text.size) == plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct err e;
  err_clear(&e);
  if (!L) L = begin_state();
  bool ids = size && data[0] & 1;
  look((struct bytes){data, size});
  look_fast((struct bytes){data, size});
  if (size && json_decode(L, (struct bytes){data + 1, size - 1}, ids ? "id vehicle_id" : NULL, &e)) {
    require(lua_gettop(L) == 1);
    read_again(L);
  } else if (size) {
    require(lua_gettop(L) == 0 && e.kind == KIND_protocol);
  }
  lua_settop(L, 0);
  return 0;
}
