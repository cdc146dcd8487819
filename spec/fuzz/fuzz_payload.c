/* Any bytes as the payload of a telemetry message: Lua values and what is published of each signal, or
 * nothing. */
#include "stream/published.h"
#include "stream/push.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int l_push(lua_State *L) {
  static const char *const topics[] = {"V", "alerts", "errors", "other"};
  const struct bytes *in = lua_touserdata(L, 1);
  lua_newtable(L);
  push_payload(L, bytes_of(topics[in->data[0] % 4]), (struct bytes){in->data + 1, in->size - 1});
  if (lua_gettop(L) != 2) abort();
  return 0;
}

static void publish(struct bytes payload) {
  struct wire_field f;
  struct signal s;
  struct buf json = BUF_INIT;
  while (payload.size && wire_next(&payload, &f) && signal_read(f.bytes, &s)) {
    buf_clear(&json);
    published_json(&s, s.field == 21, &json);
    if (!json.size) abort();
  }
  buf_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct bytes in = {data, size};
  if (!size) return 0;
  if (!L) L = luaL_newstate();
  lua_pushcfunction(L, l_push);
  lua_pushlightuserdata(L, &in);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) abort();
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT, 0);
  publish((struct bytes){data + 1, size - 1});
  return 0;
}
