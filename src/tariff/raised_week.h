/* A buy week in which each price is at least the sell price of its minute. A label that is raised only in
 * part is split, and its parts get new names. */
#ifndef FLEET_TARIFF_RAISED_WEEK_H
#define FLEET_TARIFF_RAISED_WEEK_H

#include "tariff/model.h"
#include "tariff/week_periods.h"

struct raised_week {
  struct stretch *stretches;
  size_t stretch_count, stretch_room;
  bool raised;
};

/* False: out of memory. */
bool fill_week(const struct tariff *t, const struct season *buy, const struct season *sell,
               struct raised_week *week);
bool same_week(const struct raised_week *a, const struct raised_week *b);
/* Adds the season and its rates to out. */
void write_raised(struct tariff *out, struct bytes name, struct tariff_dates dates, struct raised_week *week);
/* base_2 and so on; out owns the text. */
struct bytes numbered(struct tariff *out, struct bytes base, int number);

#endif
