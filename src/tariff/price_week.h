/* A week of prices, made from rows of times, a list of prices or spot prices, and its prices as labels.
 *
 * False is out of memory where a function takes no struct err. The check of the tariff finds gaps, not this
 * room.
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

/* Every day whose bit is set, from one minute to another; an end at or before the start lies in the next day,
 * as in the tariff itself. */
bool add_row(struct price_week *week, unsigned days, int from, int to, double price, struct bytes label);

/* Minutes of one of so many prices that cover a day or a week; 0: they cover neither. step NAN: none given.
 */
uint32_t price_step(size_t count, double step);
/* The prices of a day, taken for every day, or of a week from Monday on. */
bool add_prices(struct price_week *week, const double *prices, size_t count, uint32_t step);

/* The prices of the minutes of a period, a day or a week; equal ones in a row become one stretch. */
bool add_minutes(struct price_week *week, const double *prices, uint32_t period);

struct spot_price {
  int64_t start, stop; /* UTC, whole minutes; stop 0: not said */
  double price, sell;  /* sell NAN: none */
  size_t number;       /* in the list of the caller */
};
/* By the wall clock of the zone: a day's prices are taken for every day, a week's for their weekdays. from:
 * the day begins with the price of that moment, others are left out; NULL: all prices are one day or one
 * week. Stops are filled in; the weeks are those of both sides. False with an error: a missing price is never
 * filled in. */
bool add_spot(struct price_week week[TARIFF_SIDES], struct spot_price *spot, size_t count,
              const int64_t *from, const struct zone *zone, struct err *e);

/* Sorts the stretches; the first that begins before the one before it ends, or NULL. */
const struct stretch *sort_week(struct price_week *week);

/* Two stretches that the caller gave one label and two prices, or NULL twice. False: out of memory. */
struct label_clash {
  const struct stretch *one, *other;
};
bool find_clash(const struct price_week *week, struct label_clash *out);

/* For a sorted week that does not overlap: labels that the caller gave stay; equal prices among the rest
 * share one label, and most labels at most are made: prices that share one get their mean, chosen so that
 * prices move least. Names are kept by t. */
bool label_week(struct tariff *t, struct price_week *week, size_t most);
bool is_flat(const struct price_week *week); /* one label, ALL, for every minute */

#endif
