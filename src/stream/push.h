/* Payloads of telemetry messages as Lua values. */
#ifndef FLEET_STREAM_PUSH_H
#define FLEET_STREAM_PUSH_H

#include "bind/lua/bind.h"

/* Adds what the payload of this topic says to the table on top of the stack: at, resend, values, texts,
 * invalid of "V"; alerts; errors. Of another topic nothing. false: it is no such message. May raise for want
 * of memory. */
bool push_payload(lua_State *L, struct bytes topic, struct bytes payload);
void push_field_name(lua_State *L, int64_t field); /* its number as text where it has no name */

#endif
