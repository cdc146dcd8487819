/* fleet.key as an argument of other functions. */
#ifndef FLEET_BIND_SIGNING_KEYS_H
#define FLEET_BIND_SIGNING_KEYS_H

#include "bind/lua/versions.h"
#include "crypto/key.h"

struct key *check_key(lua_State *L, int index);

#endif
