/* Any bytes as the payload of a telemetry message: Lua values, or nothing. */
#include "stream/push.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct box_type unpacked_type;

static int l_push(lua_State *L) {
  static const char *const topics[] = {"V", "alerts", "errors", "other"};
  const struct bytes *in = lua_touserdata(L, 1);
  lua_newtable(L);
  push_payload(L, bytes_of(topics[in->data[0] % 4]), (struct bytes){in->data + 1, in->size - 1});
  if (lua_gettop(L) != 2) abort();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct bytes in = {data, size};
  if (!size) return 0;
  if (!L) {
    L = luaL_newstate();
    box_define(L, &unpacked_type);
    lua_pop(L, 1);
  }
  lua_pushcfunction(L, l_push);
  lua_pushlightuserdata(L, &in);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) abort();
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}
