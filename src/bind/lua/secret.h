/* Bytes that stay in C although Lua hands them on: forms on their way to the token address, the code of a
 * callback. Wiped when they are closed or collected.
 */
#ifndef FLEET_BIND_SECRET_H
#define FLEET_BIND_SECRET_H

#include "bind/lua/bind.h"

struct buf *push_secret(lua_State *L); /* an empty fleet.secret; leaves the box on the stack */
/* A string or a fleet.secret as a view; valid while it is on the stack. */
struct bytes check_text(lua_State *L, int index);
/* The same of a member of the table at index, which keeps it; data NULL: nil. */
struct bytes text_member(lua_State *L, int index, const char *name);

#endif
