/* A Lua value as a tree of nodes for the core, and back. Only this file walks Lua tables. */
#ifndef FLEET_BIND_VALUES_H
#define FLEET_BIND_VALUES_H

#include "base/value.h"
#include "bind/lua/versions.h"

/* An arena in a box, which stays on the stack: freed by box_close, or collected when Lua raises. */
struct arena *push_arena(lua_State *L);

/* The value at index as a tree, without metamethods. Texts are views of Lua's strings: they are valid while
 * the value is on the stack and Lua code does not change it. Light userdata NULL is NODE_NIL. An empty table
 * is an object unless its metatable has __jsontype = "array". Functions, other userdata and values below
 * JSON_DEPTH levels are NODE_OTHER. Raises when memory is out or the arena's limit is reached. */
struct node *value_at(lua_State *L, int index, struct arena *a);

/* Pushes the value. NODE_NIL becomes light userdata NULL. Of what was read from JSON, an integer of more than
 * 15 digits becomes a text, a whole number an integer. An empty list has a metatable with
 * __jsontype = "array", so that value_at finds it a list again. Raises for NULL: the core ran out of memory.
 */
void push_value(lua_State *L, const struct node *value);
/* The same as a reply: null members are absent, members named in ids (space separated) are strings. */
void push_reply_value(lua_State *L, const struct node *value, const char *ids);

#endif
