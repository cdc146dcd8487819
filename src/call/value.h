/* Checks the shape of a good reply against its row and takes the value out of it. Every value of the service
 * passes here. A null, a number or a list in the place of a record fails the check.
 */
#ifndef FLEET_CALL_VALUE_H
#define FLEET_CALL_VALUE_H

#include "base/value.h"
#include "tables/rows.h"

/* The value of a decoded body: the member `response` where the service wraps it, else the whole body; for a
 * paged row { records = list, length = with nulls, total =, pagination = object or nil }. Changes body. NULL:
 * the value has none of the row's kinds, and what holds the end of the message; or out of memory. */
struct node *take_value(struct arena *a, const struct row *row, struct node *body, char what[static 64]);

#endif
