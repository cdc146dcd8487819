/* Any bytes as what a Redis server sends, in two pieces: replies become Lua values, and what is none ends the
 * connection with a sentence. */
#include "redis/push.h"
#include "redis/replies.h"

#include "bind/lua/bind.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static int l_push(lua_State *L) {
  push_reply(L, lua_touserdata(L, 1));
  return 1;
}

/* False: the connection is of no more use. */
static bool take_all(lua_State *L, struct replies *r, struct err *e) {
  redisReply *reply;
  while (replies_next(r, &reply, e)) {
    if (!reply) return true;
    lua_pushcfunction(L, l_push);
    lua_pushlightuserdata(L, reply);
    bool pushed = lua_pcall(L, 1, 1, 0) == LUA_OK;
    require(!pushed || !lua_isnil(L, -1));
    lua_settop(L, 0);
    replies_forget(reply);
  }
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct replies r = {0};
  struct err e;
  err_clear(&e);
  size_t half = size ? data[0] % size : 0;
  if (!L) L = luaL_newstate();
  require(L && replies_open(&r, &e));
  bool good = replies_feed(&r, (struct bytes){data, half}, &e) && take_all(L, &r, &e) &&
              replies_feed(&r, (struct bytes){data + half, size - half}, &e) && take_all(L, &r, &e);
  require(good || (e.kind == KIND_store && e.message[0]));
  replies_close(&r);
  lua_gc(L, LUA_GCCOLLECT, 0);
  return 0;
}
