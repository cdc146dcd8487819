/* What stands in a good reply, and whether it is what the row promises: the one door through which every
 * value of the service comes. A null, a number or a list in the place of a record is no record.
 */
#ifndef FLEET_BIND_VALUE_H
#define FLEET_BIND_VALUE_H

#include "bind/lua/bind.h"
#include "tables/rows.h"

/* Replaces the decoded body at the top by its value: what stands under `response` where the service wraps it,
 * or the whole body; of a paged row { records = list, pagination = object or nil }. text is the body as it
 * came: lua-cjson makes the same of [] and {}. Returns false and fills what, a part of a sentence, when it is
 * none of the kinds of the row; then anything may stand at the top. */
bool take_value(lua_State *L, const struct row *row, struct bytes text, char what[static 64]);

#endif
