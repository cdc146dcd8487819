/* The options of one call, its last argument: checked against their rows and taken into the request.
 *
 * An option without effect for the row of the call is a usage error: the caller relies on it.
 */
#ifndef FLEET_BIND_CALL_OPTIONS_H
#define FLEET_BIND_CALL_OPTIONS_H

#include "bind/call/params.h"

/* Whether an option of a call says anything for calls of the row. */
bool option_concerns(const struct option *o, const struct row *row);

/* Reads p->options, which may be 0, into p->request; raises what is wrong with them. */
void read_call_options(struct plan *p);

#endif
