/* Payloads of telemetry messages from Lua values: what the simulator's vehicles send. */
#ifndef FLEET_STREAM_COMPOSE_H
#define FLEET_STREAM_COMPOSE_H

#include "bind/lua/bind.h"

/* data_payload { vin =, at =, resend =, signals = { { field =, value =, member = }, … } } -> bytes of a
 * message with topic "V" */
int l_data_payload(lua_State *L);

#endif
