/* The zone inside a zone object, for rooms that are handed one by Lua. */
#ifndef FLEET_BIND_TIME_ZONE_H
#define FLEET_BIND_TIME_ZONE_H

#include "bind/lua/bind.h"
#include "time/zone.h"

const struct zone *check_zone(lua_State *L, int index); /* raises for anything else and for a closed one */

#endif
