/* The arrays behind struct tariff, for the files of this folder.
 *
 * Names are copied into an arena and never move. Each struct holds its name by value, and qsort orders arrays
 * of pointers.
 */
#ifndef FLEET_TARIFF_MODEL_H
#define FLEET_TARIFF_MODEL_H

#include "base/arena.h"
#include "tariff/names.h"

struct label {
  struct bytes name;
  uint32_t season;
  bool day_missing;
  bool priced[TARIFF_CHARGES], own_price; /* own_price: energy is under the label itself, not under ALL */
  double price[TARIFF_CHARGES];
  size_t period, periods; /* its slice of periods; empty for the label ALL of a season without periods */
};

struct season {
  struct bytes name;
  enum tariff_side side;
  struct tariff_dates dates;
  bool used;
  size_t label, labels;                      /* its slice of labels, and of sorted */
  size_t span, spans;                        /* its slice of spans, once sealed */
  int missing_day;                           /* the last day of a period that names none */
  const struct block *block[TARIFF_CHARGES]; /* its own rates, or NULL */
};

struct rate {
  struct bytes label;
  double price;
  bool used;
};

struct block { /* the rates of one season, or of ALL */
  struct bytes season;
  enum tariff_side side;
  enum tariff_charges charges;
  size_t rate, rates; /* slice of rates, sorted by label once sealed */
};

struct charge {
  struct bytes name;
  enum tariff_side side;
  double amount;
};

struct tariff {
  struct arena names; /* and the other texts */
  bool failed, sealed;
  struct bytes text_of[TARIFF_SIDES][TARIFF_TEXTS];
  double number_of[TARIFF_SIDES][TARIFF_NUMBERS];
  struct charge *charges; /* daily ones, as sent */
  struct tariff_period *periods;
  struct season *seasons;
  struct label *labels;
  struct span *spans;
  struct block *blocks;
  struct rate *rates;
  size_t season_count, season_room, label_count, label_room, span_count, span_room, block_count, block_room,
      rate_count, rate_room, charge_count, charge_room, period_count, period_room;
  struct label **sorted;   /* every season's labels by name */
  struct season **by_name; /* side, then name */
  struct season **by_date; /* side, then first day: used ones first */
  uint32_t side_seasons[TARIFF_SIDES],
      side_used[TARIFF_SIDES]; /* by_name and by_date: buy first, then sell */
  struct block *all[TARIFF_SIDES][TARIFF_CHARGES];
  bool any_own[TARIFF_SIDES][TARIFF_CHARGES]; /* a season has rates */
  bool odd_ranges[TARIFF_SIDES][49];          /* day ranges that occur: from * 7 + to */
  struct season *year[TARIFF_SIDES][TARIFF_YEAR];
};

/* ---- model.c ---- */
bool side_in_use(const struct tariff *t, enum tariff_side side);
const struct span *season_spans(const struct tariff *t, const struct season *s); /* NULL when it has none */
struct season **first_season(const struct tariff *t, struct season **order, enum tariff_side side);
struct tariff_fault *add_fault(struct tariff_report *r, enum tariff_kind kind, enum tariff_side side);

void fill_season_week(struct tariff *t, struct season *s); /* its spans; t->failed: out of memory */

/* ---- steps of tariff_check; false: out of memory ---- */
enum { FEBRUARY_29 = 59 };
int day_of_year(int month, int day); /* 0 to 365, in a leap year */
bool fill_year(struct tariff *t, enum tariff_side side);
bool check_seasons(struct tariff *t, enum tariff_side side, struct tariff_report *r);
bool check_periods(struct tariff *t, enum tariff_side side, struct tariff_report *r);
void match_rates(struct tariff *t);
bool check_prices(struct tariff *t, enum tariff_side side, struct tariff_report *r);
double kept_price(const struct label *label); /* of energy, as the service keeps it */
bool check_buy_below_sell(struct tariff *t, struct tariff_report *r);
bool check_warnings(struct tariff *t, enum tariff_side side, struct tariff_report *r);

#endif
