/* What the bindings share that use libcrypto: the algorithms, fetched once per Lua state, and a buffer. */
#ifndef FLEET_BIND_CRYPTO_CONTEXT_H
#define FLEET_BIND_CRYPTO_CONTEXT_H

#include "bind/lua/bind.h"
#include "crypto/context.h"

/* One per Lua state. NULL, with e filled, where the system refuses an algorithm. */
struct crypto *state_crypto(lua_State *L, struct err *e);
/* A random number of 11 to 15 digits: beyond Unix seconds, which other clients use as ids, and short enough
 * to stay a number in JSON. Raises where the system has no random bytes. */
uint64_t fresh_id(lua_State *L);
/* An empty buffer of the state, for functions that call no Lua between taking it and push_whole, and make
 * nothing there: that may run a finaliser of the host's, which calls Lua. With Lua before 5.3 it may be a
 * box, on the stack. A box for every signature would cost as much as the signature. */
struct buf *state_buffer(lua_State *L);
struct buf *state_payload(lua_State *L);      /* another one, for what goes into the first */
void push_whole(lua_State *L, struct buf *b); /* pushes the contents and wipes them */

#endif
