/* Values for Lua, and members of the table on top of the stack. */
#ifndef FLEET_BIND_MEMBERS_H
#define FLEET_BIND_MEMBERS_H

#include "base/buf.h"
#include "bind/lua/versions.h"

void push_buf(lua_State *L, const struct buf *b); /* raises when the buffer failed */
void push_number(lua_State *L, double value);     /* an integer where it is whole, as Lua would have it */
void set_text(lua_State *L, const char *name, const char *text); /* NULL: none */
void set_bytes(lua_State *L, const char *name, struct bytes value);
void set_buf(lua_State *L, const char *name, const struct buf *text); /* empty: none */
void set_boolean(lua_State *L, const char *name, bool value);
void set_integer(lua_State *L, const char *name, lua_Integer value);
void set_number(lua_State *L, const char *name, double value);
bool flag_member(lua_State *L, int index, const char *name); /* of the table at index: whether it is true */
double number_member(lua_State *L, int index, const char *name, double fallback);
void push_name_list(lua_State *L, const struct buf *texts); /* of texts with a NUL behind each */
void list_append(lua_State *L, int list);                   /* what is on top of the stack, which is popped */

#endif
