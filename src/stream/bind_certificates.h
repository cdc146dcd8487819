/* Certificates for Lua: fleet.stream's functions issue, certificates, verify_server, key_fits. */
#ifndef FLEET_STREAM_BIND_CERTIFICATES_H
#define FLEET_STREAM_BIND_CERTIFICATES_H

#include "bind/lua/bind.h"

void open_stream_certificates(lua_State *L); /* adds them to the table on top of the stack */

#endif
