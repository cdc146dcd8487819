/* Checks the shape of a good reply against its row and takes the value out of it. Every value of the service
 * passes here. A null, a number or a list in the place of a record fails the check.
 */
#ifndef FLEET_BIND_VALUE_H
#define FLEET_BIND_VALUE_H

#include "bind/lua/bind.h"
#include "tables/rows.h"

/* Replaces the decoded body at the top by its value: the member `response` where the service wraps it, else
 * the whole body; for a paged row { records = list, pagination = object or nil }. text is the body as it
 * came: lua-cjson decodes [] and {} to the same table. Returns false when the value has none of the row's
 * kinds: what then holds the end of the message, and the value at the top is unspecified. */
bool take_value(lua_State *L, const struct row *row, struct bytes text, char what[static 64]);

#endif
