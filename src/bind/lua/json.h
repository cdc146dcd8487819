/* JSON at the border of C and Lua: lua-cjson reads, src/base/value_json.c writes.
 *
 * lua-cjson can only be used by calling Lua. A private instance is used, because a host may have changed the
 * shared one, and it runs under the "C" numeric locale, because a host may have set another. Before it sees a
 * reply, integer literals of more than 15 digits are put in quotes: a double cannot hold them.
 */
#ifndef FLEET_BIND_JSON_H
#define FLEET_BIND_JSON_H

#include "base/text.h"
#include "bind/lua/bind.h"

/* Pushes the value and returns true, or fills e (KIND_protocol) and pushes nothing. Null members are dropped,
 * null list elements are light userdata NULL, integral numbers are integers; members named in ids (space
 * separated) are strings. */
bool json_decode(lua_State *L, struct bytes text, const char *ids, struct err *e);

/* Appends the value at index. Tables with elements are lists; an empty table is an object unless the member's
 * name is one of the words in lists. Members are sorted. Raises for what JSON cannot say, naming where.
 */
void json_encode(lua_State *L, int index, struct buf *out, const char *lists);

#endif
