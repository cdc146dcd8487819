/* The objects that carry methods: a client, and what belongs to it. A handle is small, holds no resource but
 * a reference to its client, and its metatable's __index is filled from the rows. */
#ifndef FLEET_BIND_HANDLES_H
#define FLEET_BIND_HANDLES_H

#include "bind/lua/bind.h"
#include "tables/rows.h"

/* User values: a client's context; a handle's client and its id. */
enum { CLIENT_CONTEXT = 1, HANDLE_CLIENT = 1, HANDLE_ID = 2 };

extern const struct box_type client_type;

/* The kind of the handle at index ("client", "vehicle", "site", ...), or NULL when it is no handle. */
const char *handle_kind(lua_State *L, int index);
/* Pushes the context of the handle's client; raises for other values. */
void handle_push_context(lua_State *L, int index);
/* Pushes the id of the handle: a string, or nil for those without. */
void handle_push_id(lua_State *L, int index);
/* Both: the context, then the id. */
void handle_push_both(lua_State *L, int index);
/* The row that core.row gave; anything else raises. */
const struct row *row_at(lua_State *L, int index);

#endif
