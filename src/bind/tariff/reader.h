/* A tariff that is built is checked and told by the rules of one that is read, as if its table stood
 * somewhere.
 */
#ifndef FLEET_BIND_TARIFF_READER_H
#define FLEET_BIND_TARIFF_READER_H

#include "bind/tariff/table_reader.h"

/* Adds the season; dates are month, day, month, day as somebody wrote them. Its labels follow. */
void build_season(struct reader *r, enum tariff_side side, const char *name, const int dates[4],
                  bool has_periods);
/* Adds the value on top of the stack, which stays, to the rates of energy that were added last, those of
 * season. */
void build_rate(struct reader *r, enum tariff_side side, const char *season, const char *label);

#endif
