/* Any bytes as a tariff: the check must agree with a count of every minute and every day.
 *
 * A byte is an instruction, its operands follow; numbers are cut to what the reader of tables lets through.
 *   0 season (side, from month, from day, to month, to day)   1 label (letter)   2 period (from day, to day,
 * from hour, from minute, to hour, to minute)   3 rates (side, charges, season)   4 rate (letter,
 * price) Seasons are named by number and labels of a season by letter, each once, as the keys of a table
 * would be.
 */
#include "tariff/tariff.h"

#include <stdlib.h>
#include <string.h>

/* The second opinion is not what the fuzzer shall explore. */
#ifdef __clang__
#define UNEXPLORED __attribute__((no_sanitize("coverage"), noinline))
#else
#define UNEXPLORED
#endif

enum { SEASONS = 24, LABELS = 8 };

struct input {
  const uint8_t *at, *end;
};

static int take(struct input *in, int below) {
  return in->at < in->end ? *in->at++ % below : 0;
}

struct mirror { /* counts beside the core's arrays */
  enum tariff_side side[SEASONS];
  struct tariff_dates dates[SEASONS];
  bool used[SEASONS], labels[SEASONS];
  bool filled[SEASONS]; /* has a period; only then the week below counts */
  unsigned letters;
  int seasons, label;
  unsigned blocks[TARIFF_SIDES * TARIFF_CHARGES];
  bool in_block;
  unsigned rates;
};

static unsigned short week[SEASONS][TARIFF_WEEK]; /* periods of each minute */

static void clear_week(struct mirror *m, int s) {
  if (!m->filled[s]) memset(week[s], 0, sizeof week[s]);
  m->filled[s] = true;
}

static struct bytes letter_name(int letter) {
  static const char *const names[LABELS] = {"ALL", "ON_PEAK", "OFF_PEAK", "B", "C", "", "B\xFF", "ON"};
  return bytes_of(names[letter]);
}

/* The first is called ALL, which may stand without dates. */
static struct bytes season_name(int season) {
  if (season == 0) return bytes_of("ALL");
  static const char names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return (struct bytes){(const unsigned char *)names + season, 1};
}

static void season(struct tariff *t, struct mirror *m, struct input *in) {
  if (m->seasons == SEASONS) return;
  enum tariff_side side = (enum tariff_side)take(in, 2);
  struct tariff_dates d = {take(in, 13), take(in, 32), take(in, 13), take(in, 32)};
  m->side[m->seasons] = side, m->dates[m->seasons] = d,
  m->used[m->seasons] = d.from_month || d.from_day || d.to_month || d.to_day;
  m->letters = 0, m->label = -1;
  tariff_add_season(t, side, season_name(m->seasons++), d);
}

UNEXPLORED static void period(struct tariff *t, struct mirror *m, struct input *in) {
  int from_day = take(in, 7), to_day = take(in, 7), from = take(in, 24) * 60 + take(in, 60);
  int to_hour = take(in, 25), to_minute = take(in, 60), to = to_hour * 60 + (to_hour == 24 ? 0 : to_minute);
  if (m->seasons == 0 || m->label < 0) return;
  tariff_add_period(t, (struct tariff_period){from_day, to_day, from, to});
  m->used[m->seasons - 1] = true;
  clear_week(m, m->seasons - 1);
  for (int day = from_day;; day = (day + 1) % 7) {
    int length = to > from ? to - from : to + 1440 - from;
    for (int i = 0; i < length; i++) week[m->seasons - 1][(day * 1440 + from + i) % TARIFF_WEEK]++;
    if (day == to_day) break;
  }
}

static void label(struct tariff *t, struct mirror *m, struct input *in) {
  int letter = take(in, LABELS);
  if (m->seasons == 0 || m->letters >> letter & 1) return;
  m->letters |= 1u << letter, m->label = letter, m->labels[m->seasons - 1] = true;
  tariff_add_label(t, letter_name(letter));
  period(t, m, in); /* as a reader does: a label without periods is not added */
}

static void rates(struct tariff *t, struct mirror *m, struct input *in) {
  int side = take(in, 2), charges = take(in, 2), name = take(in, SEASONS);
  unsigned *seen = &m->blocks[side * TARIFF_CHARGES + charges];
  if (*seen >> name & 1) return;
  *seen |= 1u << name, m->in_block = true, m->rates = 0;
  tariff_add_rates(t, (enum tariff_side)side, (enum tariff_charges)charges, season_name(name));
}

static void rate(struct tariff *t, struct mirror *m, struct input *in) {
  int letter = take(in, LABELS), price = take(in, 256);
  if (!m->in_block || m->rates >> letter & 1) return;
  m->rates |= 1u << letter;
  tariff_add_rate(t, letter_name(letter), (price - 20) / 100.0);
}

static void build(struct tariff *t, struct mirror *m, struct input in) {
  static void (*const steps[])(struct tariff *, struct mirror *, struct input *) = {season, label, period,
                                                                                    rates, rate};
  while (in.at < in.end) steps[take(&in, 5)](t, m, &in);
}

static int season_of(const struct tariff_fault *f) {
  return f->season.size == 1 ? f->season.data[0] - 'A' : 0;
}

/* Minutes of gap and of overlap that the report tells for a season; each span lies in one day. */
UNEXPLORED static void told_minutes(const struct tariff_report *r, const struct mirror *m, int s, long *gap,
                                    long *overlap) {
  *gap = *overlap = 0;
  for (size_t i = 0; i < r->fault_count; i++) {
    const struct tariff_fault *f = &r->faults[i];
    if ((f->kind != TARIFF_PERIOD_GAP && f->kind != TARIFF_PERIOD_OVERLAP) || season_of(f) != s) continue;
    if (f->from >= f->to || f->to > TARIFF_WEEK || f->from / 1440 != (f->to - 1) / 1440) abort();
    for (uint32_t at = f->from; m->filled[s] && at < f->to; at++)
      if (f->kind == TARIFF_PERIOD_GAP ? week[s][at] != 0 : week[s][at] < 2) abort();
    *(f->kind == TARIFF_PERIOD_GAP ? gap : overlap) += (long)(f->to - f->from);
  }
}

/* A season without labels may be covered by ALL, which the count does not know. */
UNEXPLORED static void check_weeks(const struct tariff_report *r, const struct mirror *m) {
  for (int s = 0; s < m->seasons; s++) {
    long gap, overlap, empty = m->filled[s] ? 0 : TARIFF_WEEK, many = 0;
    told_minutes(r, m, s, &gap, &overlap);
    for (int at = 0; m->filled[s] && at < TARIFF_WEEK; at++)
      empty += week[s][at] == 0, many += week[s][at] > 1;
    if (overlap != many) abort();
    if (m->used[s] && m->labels[s] && gap != empty) abort();
  }
}

UNEXPLORED static bool is_dated(const struct tariff_dates *d) {
  return d->from_month || d->from_day || d->to_month || d->to_day;
}

UNEXPLORED static bool holds(const struct tariff_dates *d, int month, int day) {
  if (!tariff_real_date(d->from_month, d->from_day) || !tariff_real_date(d->to_month, d->to_day))
    return false;
  int at = month * 32 + day, from = d->from_month * 32 + d->from_day, to = d->to_month * 32 + d->to_day;
  return from <= to ? from <= at && at <= to : at >= from || at <= to;
}

UNEXPLORED static int seasons_on(const struct mirror *m, enum tariff_side side, int month, int day) {
  int count = 0;
  for (int s = 0; s < m->seasons; s++) count += m->side[s] == side && holds(&m->dates[s], month, day);
  return count;
}

/* Days of gap and overlap per side, against those of the report; the 29 February of a season that has the
 * 28th is none. */
UNEXPLORED static void check_days(const struct tariff_report *r, const struct mirror *m,
                                  enum tariff_side side) {
  if (m->seasons && m->side[0] == side && !is_dated(&m->dates[0])) return; /* ALL may be the whole year */
  int gap = 0, overlap = 0, reported_gap = 0, reported_overlap = 0;
  for (int month = 1; month <= 12; month++)
    for (int day = 1; tariff_real_date(month, day); day++) {
      int count = seasons_on(m, side, month, day);
      gap += count == 0 && !(month == 2 && day == 29 && seasons_on(m, side, 2, 28));
      overlap += count > 1;
    }
  bool reported = false;
  for (size_t i = 0; i < r->fault_count; i++) {
    const struct tariff_fault *f = &r->faults[i];
    if (f->side != side || (f->kind != TARIFF_SEASON_GAP && f->kind != TARIFF_SEASON_OVERLAP)) continue;
    int days = (int)f->to - (int)f->from + 1;
    *(f->kind == TARIFF_SEASON_GAP ? &reported_gap : &reported_overlap) +=
        days > 0 ? days : days + TARIFF_YEAR;
    reported = true;
  }
  if (side == TARIFF_SELL && !reported) return; /* the side may not be in use */
  if (gap != reported_gap || overlap != reported_overlap) abort();
}

static void ask(const struct tariff *t) {
  struct tariff_price p;
  struct tariff_week w;
  for (int side = 0; side < TARIFF_SIDES; side++) {
    for (int minute = 0; minute < 1440; minute = (int)p.until) {
      tariff_price(t, (enum tariff_side)side, 2, 29, 6, minute, &p);
      if ((int)p.until <= minute || p.until > 1440) abort();
    }
    for (size_t i = 0; tariff_week(t, (enum tariff_side)side, i, &w); i++)
      for (size_t j = 0; j < w.count; j++) {
        struct bytes name;
        double price[TARIFF_CHARGES];
        tariff_label(t, w.spans[j].id, &name, price);
      }
  }
}

/* ---- what the service makes of it: every minute costs the larger of buying and selling, never less than
 * nothing ---- */

static bool is_valid(const struct tariff_report *r) {
  for (size_t i = 0; i < r->fault_count; i++)
    if (r->faults[i].kind <= TARIFF_PERIOD_WITHOUT_PRICE) return false;
  return true;
}

static bool has_season(const struct tariff *t, enum tariff_side side) {
  struct tariff_week w;
  return tariff_week(t, side, 0, &w);
}

static double asked(const struct tariff *t, enum tariff_side side, int month, int weekday, int minute) {
  struct tariff_price p;
  return tariff_price(t, side, month, 15, weekday, minute, &p) && p.price > 0 ? p.price : 0;
}

UNEXPLORED static void compare_prices(const struct tariff *t, const struct tariff *n) {
  for (int month = 1; month <= 12; month++)
    for (int weekday = 0; weekday < 7; weekday++)
      for (int minute = 0; minute < 1440; minute += 7) {
        double buy = asked(t, TARIFF_BUY, month, weekday, minute),
               sell = asked(t, TARIFF_SELL, month, weekday, minute),
               now = asked(n, TARIFF_BUY, month, weekday, minute);
        if (now != (buy > sell ? buy : sell) || asked(n, TARIFF_SELL, month, weekday, minute) != sell)
          abort();
      }
}

static void normalise(const struct tariff *t) {
  struct tariff *n = tariff_normalised(t), *again;
  struct tariff_report r;
  if (!n || !tariff_check(n, &r, NULL)) abort();
  for (size_t i = 0; i < r.fault_count; i++)
    if (r.faults[i].kind <= TARIFF_BUY_BELOW_SELL) abort();
  compare_prices(t, n);
  if (!(again = tariff_normalised(n))) abort();
  tariff_report_free(&r);
  if (!tariff_check(again, &r, NULL) || !tariff_equal(n, again) || !tariff_equal(t, t)) abort();
  tariff_report_free(&r);
  tariff_free(again);
  tariff_free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tariff *t = tariff_new();
  struct mirror mirror = {.label = -1}, *m = &mirror;
  struct tariff_report r;
  if (!t) abort();
  build(t, m, (struct input){data, data + size});
  if (!tariff_check(t, &r, NULL)) abort();
  check_weeks(&r, m);
  check_days(&r, m, TARIFF_BUY);
  check_days(&r, m, TARIFF_SELL);
  ask(t);
  if (is_valid(&r) && has_season(t, TARIFF_BUY)) normalise(t);
  tariff_report_free(&r);
  tariff_free(t);
  return 0;
}
