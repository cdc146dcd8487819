/* What a vehicle, a site or the authorization server gave as its reason, looked up in the rows. Apart from
 * err.h because it needs the tables, and not everything that reports a failure does. */
#ifndef FLEET_BASE_REASON_H
#define FLEET_BASE_REASON_H

#include "tables/rows.h"

/* The row of a reason text: whole, by its end or by a part, after the signing proxy's words; NULL when no row
 * knows it. */
const struct reason *reason_of(const char *text);

/* The text behind what the signing proxy puts before it. */
const char *reason_words(const char *text);

#endif
