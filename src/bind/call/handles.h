/* The objects with methods: a client and its handles. A handle holds only a reference to its client and an
 * id. The
 * __index of its metatable is filled from the rows. */
#ifndef FLEET_BIND_HANDLES_H
#define FLEET_BIND_HANDLES_H

#include "bind/lua/bind.h"
#include "tables/rows.h"

/* User values: a client's context; a handle's client and its id. */
enum { CLIENT_CONTEXT = 1, HANDLE_CLIENT = 1, HANDLE_ID = 2 };

/* The kind of the handle at index ("client", "vehicle", "site", ...), or NULL when it is no handle. */
const char *handle_kind(lua_State *L, int index);
/* Pushes the id of the handle: a string, or nil for those without. */
void handle_push_id(lua_State *L, int index);
/* Pushes the context of the handle's client, then the id; raises for other values. */
void handle_push_both(lua_State *L, int index);
/* The row that core.row gave; anything else raises. */
const struct row *row_at(lua_State *L, int index);

#endif
