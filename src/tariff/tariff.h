/* A time-of-use tariff as flat arrays, its check, and the price of a moment.
 *
 * The service may accept a wrong tariff and ignore it later: this check finds the mistake first. The result
 * depends only on the content, not on a clock, a zone or the order of the caller's table. Rules:
 * doc/protocol.md#tariff-checks.
 *
 * A reader adds a season, then its labels, each followed by its periods. Blocks of rates come in any order.
 */
#ifndef FLEET_TARIFF_TARIFF_H
#define FLEET_TARIFF_TARIFF_H

#include "base/buf.h"
#include "base/err.h"
#include "tariff/intervals.h"

enum tariff_side { TARIFF_BUY, TARIFF_SELL, TARIFF_SIDES };
enum tariff_charges { TARIFF_ENERGY, TARIFF_DEMAND, TARIFF_CHARGES };
enum { TARIFF_WEEK = 7 * 1440, TARIFF_YEAR = 366 };

struct tariff;
struct tariff *tariff_new(void); /* NULL: out of memory */
void tariff_free(struct tariff *t);

/* Adders copy names. Out of memory is sticky: tariff_check reports it. */
struct tariff_dates {
  int from_month, from_day, to_month, to_day; /* from 1, both ends included; all 0: none given */
};
void tariff_add_season(struct tariff *t, enum tariff_side side, struct bytes name, struct tariff_dates dates);
void tariff_add_label(struct tariff *t, struct bytes label);
enum { TARIFF_NO_DAY = -1 };
struct tariff_period { /* Monday is 0; to_day TARIFF_NO_DAY: none given; minutes of the day, to_minute at most
                          1440 */
  int from_day, to_day, from_minute, to_minute;
};
void tariff_add_period(struct tariff *t, struct tariff_period period);
void tariff_add_rates(struct tariff *t, enum tariff_side side, enum tariff_charges charges,
                      struct bytes season);
void tariff_add_rate(struct tariff *t, struct bytes label, double price);
void tariff_add_charge(struct tariff *t, enum tariff_side side, struct bytes name, double amount);

/* Members that are sent to the service without a check. */
enum tariff_text {
  TARIFF_CODE,
  TARIFF_CURRENCY,
  TARIFF_NAME,
  TARIFF_UTILITY,
  TARIFF_DAILY_DEMAND, /* JSON text of an object; empty: {} */
  TARIFF_TEXTS
};
enum tariff_number {
  TARIFF_MAX_DEMAND,
  TARIFF_MIN_DEMAND,
  TARIFF_MONTHLY,
  TARIFF_MONTHLY_MINIMUM,
  TARIFF_VERSION,
  TARIFF_NUMBERS
};
void tariff_set_text(struct tariff *t, enum tariff_side side, enum tariff_text member, struct bytes text);
void tariff_set_number(struct tariff *t, enum tariff_side side, enum tariff_number member, double value);

bool tariff_real_date(int month, int day);             /* 29 February is one */
void tariff_date(uint32_t day, int *month, int *date); /* of the leap year's days, from 0 */

/* clang-format off */
enum tariff_kind {
  TARIFF_SEASON_GAP, TARIFF_SEASON_OVERLAP, TARIFF_PERIOD_GAP, TARIFF_PERIOD_OVERLAP, TARIFF_PRICE_WITHOUT_PERIOD,
  TARIFF_PERIOD_WITHOUT_PRICE, TARIFF_NEGATIVE_PRICE, TARIFF_BUY_BELOW_SELL, TARIFF_LABELS_NOT_SHOWN,
  TARIFF_ALL_RECOMMENDED, TARIFF_DAY_RANGES, TARIFF_MISSING_TO_DAY, TARIFF_MISSING_CHARGES, TARIFF_LEAP_DAY
};
/* clang-format on */

struct tariff_fault { /* tariff_kind_rows names the members of each kind */
  enum tariff_kind kind;
  enum tariff_side side;
  enum tariff_charges charges;
  struct bytes season, other_season, label, other_label; /* other: of the sell side */
  uint32_t from, to; /* minutes of the week, to excluded; days of the leap year, to included */
  double price, other_price, becomes;
  size_t first, count; /* names (labels or seasons, sorted), or spans */
};

struct tariff_report { /* names point into the tariff */
  struct tariff_fault *faults;
  struct bytes *names;
  struct span *spans;
  size_t fault_count, fault_room, name_count, name_room, span_count, span_room;
};

bool tariff_check(struct tariff *t, struct tariff_report *r, struct err *e); /* false: out of memory */
void tariff_report_free(struct tariff_report *r);

/* ---- for a tariff that was checked ---- */
struct tariff_price {
  struct bytes season, label;
  double price;   /* as sent */
  uint32_t until; /* the minute of the day, at most 1440, at which another answer may begin */
};
/* weekday 0 is Monday. False: no price at that time, or no such side; season and until are set if known. */
bool tariff_price(const struct tariff *t, enum tariff_side side, int month, int day, int weekday, int minute,
                  struct tariff_price *out);

struct tariff_week {
  struct bytes name;
  struct tariff_dates dates;
  const struct span *spans; /* of the week, sorted; id is a label of this tariff */
  size_t count;
};
bool tariff_week(const struct tariff *t, enum tariff_side side, size_t i,
                 struct tariff_week *out); /* by first day */
void tariff_label(const struct tariff *t, uint32_t id, struct bytes *name, double price[TARIFF_CHARGES]);

/* tariff_content_v2 with every member written out, sorted by name; seasons that are not in use are left
 * out. */
void tariff_encode(const struct tariff *t, struct buf *out);
/* Whether both mean the same, with periods in any order. False also when memory is out. */
bool tariff_equal(const struct tariff *a, const struct tariff *b);
/* The tariff as the service will store it: no negative price, and no buy price below the sell price. It is
 * not checked; NULL: out of memory. */
struct tariff *tariff_normalised(const struct tariff *t);

#endif
