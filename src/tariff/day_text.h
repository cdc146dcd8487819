/* Weekdays and hours as people read them: "Mon-Fri 14:00-15:00 and Sat 9:00-10:00". */
#ifndef FLEET_TARIFF_DAY_TEXT_H
#define FLEET_TARIFF_DAY_TEXT_H

#include "base/buf.h"

extern const char *const day_names[7]; /* from Monday */

/* What stands before an item of "a, b and c": nothing, a comma, or "and". */
void write_separator(struct buf *out, size_t i, size_t count);

/* What follows the day in "Mon 14:00-15:00"; *day from 0, or -1: the text does not begin with a day. */
struct bytes split_span(struct bytes span, int *day);

/* The same hours on several days are said once. False: out of memory. */
bool write_spans(struct buf *out, const struct bytes *spans, size_t count);

#endif
