/* Amounts as an argument: lines "name number" (src/store/counters.h). */
#ifndef FLEET_BIND_STORE_COUNTERS_H
#define FLEET_BIND_STORE_COUNTERS_H

#include "bind/lua/bind.h"
#include "store/counters.h"

/* The text at index as a list, in a userdata that is left on the stack. The names stay in the text. */
struct counter *check_amounts(lua_State *L, int index, size_t *count);

#endif
