/* Counters as an argument and as a result: a table of whole numbers by name. */
#ifndef FLEET_BIND_STORE_COUNTERS_H
#define FLEET_BIND_STORE_COUNTERS_H

#include "bind/lua/bind.h"
#include "store/counters.h"

/* The table at index as a list, in a box that is left on the stack. The names stay in the table. */
struct counter *check_amounts(lua_State *L, int index, size_t *count);
int push_counters(lua_State *L, struct bytes text); /* totals by name; nil, err, kind */
int push_totals(lua_State *L, const struct counter *list, size_t count);

#endif
