/* Tariffs from prices: what the caller got wrong in them is raised, what the tariff gets wrong stands in the
 * list of problems, what a feed got wrong is an error. */
#ifndef FLEET_BIND_TARIFF_BUILD_H
#define FLEET_BIND_TARIFF_BUILD_H

#include "bind/tariff/tariffs.h"

/* Both read the options at index 1 into t, leave one value on the stack, and return how many problems stand
 * in the list at that index; -1: the prices of a feed are wrong, as the error says. */
typedef lua_Integer tariff_builder(lua_State *L, struct tariff *t, int problems, struct err *e);
tariff_builder build_flat; /* leaves nil */
tariff_builder build_rows; /* the zone or nil at index 2; leaves how prices were grouped */

void define_build(lua_State *L);

#endif
