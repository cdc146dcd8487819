/* What the bindings share that use libcrypto: the algorithms, fetched once per Lua state. */
#ifndef FLEET_BIND_CRYPTO_CONTEXT_H
#define FLEET_BIND_CRYPTO_CONTEXT_H

#include "bind/lua/bind.h"
#include "crypto/context.h"

/* One per Lua state. NULL, with e filled, where the system refuses an algorithm. */
struct crypto *state_crypto(lua_State *L, struct err *e);
/* A random number of 11 to 15 digits. It is larger than Unix seconds, which other clients use as ids, and
 * short enough for a JSON number. Raises when the system has no random bytes. */
uint64_t fresh_id(lua_State *L);

#endif
