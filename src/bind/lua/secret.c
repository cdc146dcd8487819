#include "bind/lua/secret.h"

static void release_secret(void *object) {
  buf_free(object);
}

static const luaL_Reg secret_methods[];
static const struct box_type secret_type = {"fleet.secret", release_secret, secret_methods, NULL};

/* secret:text() -> the bytes: for a host that brings its own HTTP. */
static int l_text(lua_State *L) {
  push_buf(L, box_check(L, 1, &secret_type));
  return 1;
}

static const luaL_Reg secret_methods[] = {{"text", l_text}, {NULL, NULL}};

struct buf *push_secret(lua_State *L) {
  struct buf *b = box_new(L, &secret_type, sizeof *b, 0);
  box_open(L, -1);
  return b;
}

struct bytes check_text(lua_State *L, int index) {
  return box_test(L, index, &secret_type) ? buf_bytes(box_check(L, index, &secret_type))
                                          : check_bytes(L, index);
}

struct bytes text_member(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  struct bytes text = lua_isnil(L, -1) ? (struct bytes){NULL, 0} : check_text(L, -1);
  lua_pop(L, 1);
  return text;
}

void open_secret(lua_State *L) {
  box_define(L, &secret_type);
  lua_pop(L, 1);
}
