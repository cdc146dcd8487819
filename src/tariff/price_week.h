/* A week of prices from rows of times, a list of prices or spot prices, and a label for each price.
 *
 * A function without struct err returns false when memory is out. Gaps are found later, by the check of the
 * tariff.
 */
#ifndef FLEET_TARIFF_PRICE_WEEK_H
#define FLEET_TARIFF_PRICE_WEEK_H

#include "tariff/week_periods.h"
#include "time/zone.h"

struct price_group {
  struct bytes label;
  double price, low, high;
  uint32_t minutes;
};

struct price_week {
  struct stretch *stretches; /* base: the caller's label, or no data */
  size_t stretch_count, stretch_room;
  struct price_group *groups; /* once labelled, sorted by label */
  size_t group_count, group_room;
};

void free_week(struct price_week *week);

/* Adds the price on each day whose bit is set. An end at or before the start is on the next day, as in a
 * tariff. */
bool add_row(struct price_week *week, unsigned days, int from, int to, double price, struct bytes label);

/* Minutes of each price of a list; 0: the list covers neither a day nor a week. step NAN: none given. */
uint32_t price_step(size_t count, double step);
/* The prices of one day, repeated for each day, or of a week from Monday on. */
bool add_prices(struct price_week *week, const double *prices, size_t count, uint32_t step);

/* The prices of the minutes of a day or a week. Equal neighbours become one stretch. */
bool add_minutes(struct price_week *week, const double *prices, uint32_t period);

struct spot_price {
  int64_t start, stop; /* UTC, whole minutes; stop 0: not said */
  double price, sell;  /* sell NAN: none */
  size_t number;       /* in the list of the caller */
};
/* Fills the weeks of both sides from spot prices, by the wall clock of the zone. The prices of a day are
 * repeated for each day, those of a week keep their weekdays. from: the day begins with the price of that
 * moment, and other prices are left out. NULL: all prices together are one day or one week. Sets the stops
 * that are 0. A missing price is an error, never a guess. */
bool add_spot(struct price_week week[TARIFF_SIDES], struct spot_price *spot, size_t count,
              const int64_t *from, const struct zone *zone, struct err *e);

/* Sorts the stretches; the first that begins before the one before it ends, or NULL. */
const struct stretch *sort_week(struct price_week *week);

/* Finds two stretches of one label with two prices; NULL: there are none. False: out of memory. */
struct label_clash {
  const struct stretch *one, *other;
};
bool find_clash(const struct price_week *week, struct label_clash *out);

/* Gives each stretch of a sorted week without overlaps a label. Labels of the caller stay. Other stretches
 * with equal prices share a label. If that makes more than most labels, prices are grouped so that they
 * change least, and a group gets its mean. t owns the names. */
bool label_week(struct tariff *t, struct price_week *week, size_t most);
bool is_flat(const struct price_week *week); /* one label, ALL, for every minute */

#endif
