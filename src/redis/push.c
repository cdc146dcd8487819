#include "redis/push.h"

#include "bind/lua/versions.h"

#include <stdbool.h>

enum { DEEPEST = 9 /* arrays in arrays: as deep as hiredis goes */ };

static void push_at(lua_State *L, const redisReply *reply, int depth);

static void push_array(lua_State *L, const redisReply *reply, int depth) {
  luaL_checkstack(L, 3, "a reply of Redis");
  if (depth >= DEEPEST) luaL_error(L, "a reply of Redis is too deep");
  lua_createtable(L, (int)reply->elements, 0);
  for (size_t i = 0; i < reply->elements; i++) {
    push_at(L, reply->element[i], depth + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_at(lua_State *L, const redisReply *reply, int depth) {
  switch (reply ? reply->type : REDIS_REPLY_NIL) {
  case REDIS_REPLY_STRING:
  case REDIS_REPLY_STATUS:
    lua_pushlstring(L, reply->str, reply->len);
    return;
  case REDIS_REPLY_INTEGER:
    lua_pushinteger(L, (lua_Integer)reply->integer);
    return;
  case REDIS_REPLY_ARRAY:
    push_array(L, reply, depth);
    return;
  case REDIS_REPLY_ERROR:
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, reply->str, reply->len);
    lua_setfield(L, -2, "error");
    return;
  default: /* nil, and what only RESP 3 knows */
    lua_pushboolean(L, false);
  }
}

void push_reply(lua_State *L, const redisReply *reply) {
  push_at(L, reply, 0);
}
