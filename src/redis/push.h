/* A reply as Lua values. */
#ifndef FLEET_REDIS_PUSH_H
#define FLEET_REDIS_PUSH_H

#include <hiredis/hiredis.h>
#include <lua.h>

/* Pushes a string, an integer, an array as a table, or false for what Redis calls nil; an error as a table
 * { error = text }. May raise: the reply stays the caller's. */
void push_reply(lua_State *L, const redisReply *reply);

#endif
