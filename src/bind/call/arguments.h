/* What a caller gives to a call, for the core: src/call/arguments.h. */
#ifndef FLEET_BIND_ARGUMENTS_H
#define FLEET_BIND_ARGUMENTS_H

#include "bind/lua/bind.h"
#include "call/arguments.h"

/* For a row's arguments, in this arena, with a mistake in this buffer. */
void arguments_start(lua_State *L, const struct row *row, struct arena *arena, struct buf *error,
                     struct arguments *a);
/* The same where no request keeps them: pushes two boxes, of the arena and of the buffer. */
void arguments_boxed(lua_State *L, const struct row *row, struct arguments *a);
/* The value at index as a tree of its own: what the caller's code does to it meanwhile changes nothing. */
struct node *arguments_value(lua_State *L, int index, const struct arguments *a);
/* The table of parameters at index into a, read through its metatable. */
void arguments_params(lua_State *L, int index, struct arguments *a);
/* The same of the options. */
void arguments_options(lua_State *L, int index, struct arguments *a);
/* Raises the mistake that a has, with the caller's line, or that memory is out. */
void arguments_check(lua_State *L, const struct arguments *a);

#endif
