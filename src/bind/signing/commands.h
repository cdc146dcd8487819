/* Commands as the messages that are signed: from a name and parameters, or from a planned request. */
#ifndef FLEET_BIND_SIGNING_COMMANDS_H
#define FLEET_BIND_SIGNING_COMMANDS_H

#include "bind/lua/bind.h"

const struct row *check_command(lua_State *L, int index); /* raises for a name that is none */

/* The signed form of a command with the parameters in the table at an index (0: none). Raises for the
 * caller's mistakes. */
bool command_payload(lua_State *L, const struct row *row, int params, struct buf *payload, struct err *e);
/* The same of the planned request at an index, whose parameters were checked. */
bool request_payload(lua_State *L, int index, struct buf *payload, struct err *e);
/* False for a command whose message only other clients are known to send. */
bool signed_form_published(const struct row *row, struct err *e);

#endif
