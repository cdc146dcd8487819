/* Converts the Lua arguments of a call for src/call/arguments.h. */
#ifndef FLEET_BIND_ARGUMENTS_H
#define FLEET_BIND_ARGUMENTS_H

#include "bind/lua/bind.h"
#include "call/arguments.h"

/* Prepares to read arguments for a row, into this arena. A mistake is written to this buffer. */
void arguments_start(lua_State *L, const struct row *row, struct arena *arena, struct buf *error,
                     struct arguments *a);
/* The same without a request: pushes two boxes that own the arena and the buffer. */
void arguments_boxed(lua_State *L, const struct row *row, struct arguments *a);
/* A copy of the value at index as a tree: later changes by the caller's code have no effect. */
struct node *arguments_value(lua_State *L, int index, const struct arguments *a);
/* The table of parameters at index into a, read through its metatable. */
void arguments_params(lua_State *L, int index, struct arguments *a);
/* The same of the options. */
void arguments_options(lua_State *L, int index, struct arguments *a);
/* Raises the mistake recorded in a, with the caller's line, or "out of memory". */
void arguments_check(lua_State *L, const struct arguments *a);

#endif
