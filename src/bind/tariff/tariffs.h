/* What the files of this folder about tariffs share: reading a table, telling what was found.
 *
 * The reader appends what the table itself gets wrong to a list of problems; the report appends what the core
 * found and wraps both.
 */
#ifndef FLEET_BIND_TARIFFS_H
#define FLEET_BIND_TARIFFS_H

#include "bind/lua/bind.h"
#include "tariff/tariff.h"

/* Reads the table on top of the stack into t; returns how many problems it appended to the list at that
 * index. */
lua_Integer read_tariff(lua_State *L, struct tariff *t, int problems);
/* Whether the table on top of the stack is the older tariff_content: prices without `rates`, periods as bare
 * lists. */
bool is_older_tariff(lua_State *L);
const char *tariff_date_member(int i); /* 0 to 3: fromMonth, fromDay, toMonth, toDay */

/* Pushes { valid, problems, normalisations, warnings }; the list of problems holds count already. allowed:
 * what is a warning and no problem: the service takes currencies that it does not name, and a site may hold
 * members that are not known. */
enum { ALLOW_CURRENCY = 1, ALLOW_UNKNOWN = 2 };
void push_tariff_report(lua_State *L, const struct tariff_report *report, int problems, lua_Integer count,
                        unsigned allowed);

const char *side_name(enum tariff_side side);

/* Tariffs from prices: what the caller got wrong in them is raised, what the tariff gets wrong is in the list
 * of problems, what a feed got wrong is an error. */

/* Both read the options at index 1 into t, leave one value on the stack, and return how many problems stand
 * in the list at that index; -1: the prices of a feed are wrong, as the error says. */
typedef lua_Integer tariff_builder(lua_State *L, struct tariff *t, int problems, struct err *e);
tariff_builder build_flat; /* leaves nil */
tariff_builder build_rows; /* the zone or nil at index 2; leaves how prices were grouped */

void define_build(lua_State *L);

#endif
