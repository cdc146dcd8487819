/* JSON text as Lua values, and back. */
#ifndef FLEET_BIND_JSON_H
#define FLEET_BIND_JSON_H

#include "base/text.h"
#include "bind/lua/bind.h"

/* Pushes the value as push_reply_value does and returns true, or fills e (KIND_protocol, or out of memory)
 * and pushes nothing. */
bool json_decode(lua_State *L, struct bytes text, const char *ids, struct err *e);

/* Appends the value at index. Tables with elements are lists; an empty table is an object unless the member's
 * name is one of the words in lists. Members are sorted. Raises for what JSON cannot say, naming where.
 */
void json_encode(lua_State *L, int index, struct buf *out, const char *lists);

#endif
