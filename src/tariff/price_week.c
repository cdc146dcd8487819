#include "tariff/price_week.h"

#include <math.h>
#include <stdlib.h>

void free_week(struct price_week *week) {
  free(week->stretches), free(week->groups);
  *week = (struct price_week){0};
}

static bool add_stretch(struct price_week *week, uint32_t from, uint32_t to, double price,
                        struct bytes label) {
  struct stretch *s = ADD(week, stretches, stretch);
  if (s) *s = (struct stretch){.from = from, .to = to, .base = label, .name = label, .price = price};
  return s;
}

/* ---- rows ---- */

bool add_row(struct price_week *week, unsigned days, int from, int to, double price, struct bytes label) {
  if (to <= from) to += 1440;
  if (to == from) return true; /* 24:00 to 0:00: no time */
  for (int day = 0; day < 7; day++) {
    uint32_t start = (uint32_t)(day * 1440 + from), stop = (uint32_t)(day * 1440 + to);
    if (!(days >> day & 1)) continue;
    if (start < TARIFF_WEEK &&
        !add_stretch(week, start, stop < TARIFF_WEEK ? stop : TARIFF_WEEK, price, label))
      return false;
    uint32_t over = start < TARIFF_WEEK ? 0 : start - TARIFF_WEEK;
    if (stop > TARIFF_WEEK && !add_stretch(week, over, stop - TARIFF_WEEK, price, label)) return false;
  }
  return true;
}

/* ---- lists ---- */

uint32_t price_step(size_t count, double step) {
  double n = (double)count;
  if (isnan(step)) step = count % 7 == 0 && count > 100 ? TARIFF_WEEK / n : 1440 / n;
  double total = n * step;
  if (!(step >= 1 && step == floor(step)) || (total != 1440 && total != TARIFF_WEEK)) return 0;
  return (uint32_t)step;
}

bool add_prices(struct price_week *week, const double *prices, size_t count, uint32_t step) {
  uint32_t length = (uint32_t)count * step;
  for (uint32_t start = 0; start < TARIFF_WEEK; start += length)
    for (uint32_t i = 0; i < count; i++)
      if (!add_stretch(week, start + i * step, start + (i + 1) * step, prices[i], (struct bytes){NULL, 0}))
        return false;
  return true;
}

/* ---- spot prices ---- */

struct minutes { /* of a day or a week; count 0: not yet priced */
  double price[TARIFF_WEEK];
  unsigned count[TARIFF_WEEK];
  uint32_t period;
};

static uint32_t minute_of_week(const struct zone *zone, int64_t utc) {
  struct zone_time t;
  zone_local(zone, utc, &t);
  const struct civil *c = &t.civil;
  int weekday = (civil_weekday(civil_days(c->year, c->month, c->day)) + 6) % 7;
  return (uint32_t)(weekday * 1440 + c->hour * 60 + c->minute);
}

static bool add_minutes(struct minutes *all, const struct zone *zone, const struct spot_price *one,
                        double stop, int64_t first, struct err *e) {
  for (int64_t utc = one->start; (double)utc <= stop - 60; utc += 60) {
    if (utc - first >= (int64_t)all->period * 60 + 3600)
      return err_set(e, KIND_invalid, "the spot prices cover more than %u hours", all->period / 60);
    uint32_t minute = minute_of_week(zone, utc) % all->period;
    all->price[minute] += one->price, all->count[minute]++;
  }
  return true;
}

/* What a clock change shows twice has the mean of both. */
static bool fill_minutes(struct minutes *all, const struct zone *zone, const struct spot_price *spot,
                         size_t count, double end, struct err *e) {
  for (size_t i = 0; i < count; i++) {
    double stop = i + 1 < count ? (double)spot[i + 1].start : end;
    if (!add_minutes(all, zone, &spot[i], stop, spot[0].start, e)) return false;
  }
  for (uint32_t m = 0; m < all->period; m++)
    if (all->count[m]) all->price[m] /= all->count[m];
  return true;
}

/* What a clock change skips has the price before it. */
static bool fill_skipped(struct minutes *all, struct err *e) {
  int missing = 0;
  for (uint32_t m = 0; m < all->period; m++) {
    if (all->count[m]) continue;
    uint32_t before = (m + all->period - 1) % all->period;
    if (++missing > 60 || !all->count[before])
      return err_set(e, KIND_invalid,
                     "the spot prices leave a gap of more than an hour; give all of a day or of a week");
    all->price[m] = all->price[before], all->count[m] = 1;
  }
  return true;
}

static bool add_all_minutes(struct price_week *week, const struct minutes *all) {
  for (uint32_t at = 0; at < TARIFF_WEEK; at++) {
    double price = all->price[at % all->period];
    struct stretch *last = week->stretch_count ? &week->stretches[week->stretch_count - 1] : NULL;
    if (last && last->price == price)
      last->to = at + 1;
    else if (!add_stretch(week, at, at + 1, price, (struct bytes){NULL, 0}))
      return false;
  }
  return true;
}

bool add_spot(struct price_week *week, const struct spot_price *spot, size_t count, double last_minutes,
              const struct zone *zone, struct err *e) {
  struct minutes *all = calloc(1, sizeof *all);
  if (!all) return err_out_of_memory(e);
  double end = (double)spot[count - 1].start + last_minutes * 60;
  all->period = end - (double)spot[0].start <= 25 * 3600 ? 1440 : TARIFF_WEEK;
  bool ok = fill_minutes(all, zone, spot, count, end, e) && fill_skipped(all, e);
  if (ok && !add_all_minutes(week, all)) ok = err_out_of_memory(e);
  free(all);
  return ok;
}

/* ---- order ---- */

static int by_start(const void *left, const void *right) {
  const struct stretch *a = left, *b = right;
  return (a->from > b->from) - (a->from < b->from);
}

const struct stretch *sort_week(struct price_week *week) {
  if (week->stretch_count) qsort(week->stretches, week->stretch_count, sizeof *week->stretches, by_start);
  for (size_t i = 1; i < week->stretch_count; i++)
    if (week->stretches[i].from < week->stretches[i - 1].to) return &week->stretches[i];
  return NULL;
}
