/* A timer with a descriptor, for loops that only watch descriptors: fleet.stream's function timer. */
#ifndef FLEET_STREAM_TIMER_H
#define FLEET_STREAM_TIMER_H

#include "bind/lua/bind.h"

void open_stream_timer(lua_State *L); /* adds it to the table on top of the stack */

#endif
