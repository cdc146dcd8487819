/* fleet.key as an argument of other functions. */
#ifndef FLEET_BIND_SIGNING_KEYS_H
#define FLEET_BIND_SIGNING_KEYS_H

#include "crypto/key.h"

#include <lua.h>

struct key *check_key(lua_State *L, int index);

#endif
