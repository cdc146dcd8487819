/* The periods of a tariff for a week of stretches with labels.
 *
 * Days with the same stretches share periods, because the app shows those of weekdays and weekend best
 * (doc/protocol.md#tariff-meaning).
 */
#ifndef FLEET_TARIFF_WEEK_PERIODS_H
#define FLEET_TARIFF_WEEK_PERIODS_H

#include "tariff/names.h"

struct stretch {
  uint32_t from, to;       /* minutes of the week, to excluded */
  struct bytes base, name; /* the old label and the new one */
  double own, price, demand;
};

struct day_row {
  struct tariff_period period; /* to_minute 1440 at the end of the day */
  struct bytes name;
  double price;
};

struct day_rows {
  struct day_row *rows;
  size_t row_count, row_room;
};

/* Appends the rows of each run of days with the same stretches, which are sorted. False: out of memory. */
bool fill_rows(struct day_rows *out, const struct stretch *stretches, size_t count);
/* Adds the labels and their periods to the season that was added last. False: out of memory. */
bool write_periods(struct tariff *out, const struct stretch *stretches, size_t count);

#endif
