#include "bind/lua/bind.h"

#include <stdint.h>
#include <string.h>

/* ---- boxes ---- */

/* Lua aligns the memory of a userdata for LUAI_MAXALIGN only, which is less than max_align_t. */
struct box {
  const struct box *self; /* no other userdata holds its own address and that of a type */
  const struct box_type *type;
  lua_Integer *live; /* how many are open in this state */
  bool open;
  union {
    LUAI_MAXALIGN;
  } object[];
};

static char live_key;

static lua_Integer *live_counter(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &live_key) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    lua_Integer *fresh = lua_newuserdatauv(L, sizeof *fresh, 0);
    *fresh = 0;
    lua_rawsetp(L, LUA_REGISTRYINDEX, &live_key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &live_key);
  }
  lua_Integer *counter = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return counter;
}

long live_objects(lua_State *L) {
  return (long)*live_counter(L);
}

/* Of any userdata: reads its first member, which costs less than its metatable. */
const struct box_type *box_type_at(lua_State *L, int index) {
  const struct box *box = lua_touserdata(L, index);
  if (!box || lua_type(L, index) != LUA_TUSERDATA || lua_rawlen(L, index) < sizeof *box) return NULL;
  return box->self == box ? box->type : NULL;
}

static struct box *box_at(lua_State *L, int index, const struct box_type *type) {
  return box_type_at(L, index) == type ? lua_touserdata(L, index) : NULL;
}

static void release(struct box *box) {
  if (!box->open) return;
  box->open = false;
  --*box->live;
  if (box->type->release) box->type->release(box->object);
}

/* The type is an upvalue of the metatable's function, so that close(), __close and __gc are one
 * function. */
static int l_box_close(lua_State *L) {
  const struct box_type *type = lua_touserdata(L, lua_upvalueindex(1));
  struct box *box = box_at(L, 1, type);
  if (!box) return luaL_typeerror(L, 1, type->name);
  release(box);
  return 0;
}

static int l_box_tostring(lua_State *L) {
  const struct box_type *type = lua_touserdata(L, lua_upvalueindex(1));
  struct box *box = box_at(L, 1, type);
  if (!box) return luaL_typeerror(L, 1, type->name);
  lua_pushfstring(L, "%s%s", type->name, box->open ? "" : " (closed)");
  return 1;
}

static void set_method(lua_State *L, const struct box_type *type, const char *name, lua_CFunction function) {
  lua_pushlightuserdata(L, (void *)(uintptr_t)type);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

/* Not by name in the registry: fleet.server brings boxes of its own that may be called like the core's. */
void box_define(lua_State *L, const struct box_type *type) {
  lua_newtable(L);
  lua_pushstring(L, type->name);
  lua_setfield(L, -2, "__name");
  set_method(L, type, "__gc", l_box_close);
  set_method(L, type, "__close", l_box_close);
  set_method(L, type, "__tostring", l_box_tostring);
  lua_newtable(L);
  set_method(L, type, "close", l_box_close);
  if (type->methods) luaL_setfuncs(L, type->methods, 0);
  lua_setfield(L, -2, "__index");
  if (type->metamethods) luaL_setfuncs(L, type->metamethods, 0);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, type);
}

void *box_new(lua_State *L, const struct box_type *type, size_t size, int user_values) {
  struct box *box = lua_newuserdatauv(L, sizeof *box + size, user_values);
  memset(box, 0, sizeof *box + size);
  box->self = box;
  box->type = type;
  box->live = live_counter(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_setmetatable(L, -2);
  return box->object;
}

void box_open(lua_State *L, int index) {
  struct box *box = lua_touserdata(L, index);
  box->open = true;
  ++*box->live;
}

void *box_test(lua_State *L, int index, const struct box_type *type) {
  struct box *box = box_at(L, index, type);
  return box ? box->object : NULL;
}

void *box_check(lua_State *L, int index, const struct box_type *type) {
  struct box *box = box_at(L, index, type);
  if (!box) luaL_typeerror(L, index, type->name);
  if (!box->open) usage_error(L, "%s is closed", type->name);
  return box->object;
}

void *box_any(lua_State *L, int index, const struct box_type *type) {
  struct box *box = box_at(L, index, type);
  if (!box) luaL_typeerror(L, index, type->name);
  return box->object;
}

bool box_is_open(lua_State *L, int index) {
  return box_type_at(L, index) && ((const struct box *)lua_touserdata(L, index))->open;
}

void box_close(lua_State *L, int index) {
  release(lua_touserdata(L, index));
}

/* ---- bytes ---- */

struct bytes check_bytes(lua_State *L, int index) {
  size_t size;
  const char *data = luaL_checklstring(L, index, &size);
  return (struct bytes){(const unsigned char *)data, size};
}

/* ---- scratch ---- */

static void release_scratch(void *object) {
  buf_free(object);
}

static const struct box_type scratch_type = {"fleet.scratch", release_scratch, NULL, NULL};

struct buf *push_scratch(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scratch_type) == LUA_TNIL) {
    box_define(L, &scratch_type);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  struct buf *b = box_new(L, &scratch_type, sizeof *b, 0);
  box_open(L, -1);
  return b;
}
