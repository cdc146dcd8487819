/* Hosts that interrupt Lua code: see interrupts.c. */
#ifndef FLEET_BIND_HTTP_INTERRUPTS_H
#define FLEET_BIND_HTTP_INTERRUPTS_H

#include "bind/lua/bind.h"

bool host_interrupts(lua_State *L);      /* whether the host may interrupt Lua code */
void refuse_interruptions(lua_State *L); /* raises where it may interrupt the running coroutine */

#endif
