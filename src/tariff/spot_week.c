/* Turns spot prices, which have a moment, into a week of prices by time of day. */
#include "tariff/price_week.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOUR = 3600, DAY = 86400 };

static void local_clock(const struct zone *zone, int64_t utc, struct civil *out) {
  struct zone_time t;
  zone_local(zone, utc, &t);
  *out = t.civil;
}

static bool missing(const struct zone *zone, int64_t from, int64_t to, struct err *e) {
  struct civil a, b;
  local_clock(zone, from, &a), local_clock(zone, to, &b);
  bool long_step = to - from >= HOUR;
  return err_set(e, KIND_invalid,
                 "no spot price covers %04d-%02d-%02d %02d:%02d to %04d-%02d-%02d %02d:%02d (local time)%s",
                 a.year, a.month, a.day, a.hour, a.minute, b.year, b.month, b.day, b.hour, b.minute,
                 long_step ? "; a price that holds longer than an hour must say so with 'minutes'" : "");
}

/* ---- the end of each price ---- */

/* Seconds: as given, or until the next price; the last price is as long as the one before it. */
static int64_t step_of(const struct spot_price *spot, size_t count, size_t i) {
  if (!spot[i].stop && i + 1 == count && i > 0) i--;
  if (spot[i].stop) return spot[i].stop - spot[i].start;
  return i + 1 < count ? spot[i + 1].start - spot[i].start : 0;
}

/* Checks a run of prices with the same step and without a given length. A step that is longer than both
 * neighbours, or a single long one beside a shorter one, means that a price is missing: feeds change from
 * hours to quarter hours once, not back and forth. */
static bool check_run(const struct spot_price *spot, size_t count, size_t first, size_t end,
                      const struct zone *zone, struct err *e) {
  int64_t step = step_of(spot, count, first), before = first ? step_of(spot, count, first - 1) : step,
          after = end < count ? step_of(spot, count, end) : step;
  bool before_finer = before < step, after_finer = after < step;
  int64_t real = before_finer ? before : after_finer ? after : HOUR;
  if (step > HOUR || (before_finer && after_finer) || ((before_finer || after_finer) && end - first == 1))
    return missing(zone, spot[first].start + (real < HOUR ? real : HOUR), spot[first].start + step, e);
  if (HOUR % step == 0) return true;
  return err_set(
      e, KIND_invalid,
      "spot price %zu holds %d minutes until the next one; it must say so with 'minutes', or a price "
      "is missing",
      first + 1, (int)(step / 60));
}

static bool check_given(const struct spot_price *spot, size_t count, size_t i, const struct zone *zone,
                        struct err *e) {
  if (i + 1 == count || spot[i].stop == spot[i + 1].start) return true;
  if (spot[i].stop < spot[i + 1].start) return missing(zone, spot[i].stop, spot[i + 1].start, e);
  return err_set(e, KIND_invalid, "spot price %zu begins before the one before it ends", spot[i + 1].number);
}

static bool check_steps(const struct spot_price *spot, size_t count, const struct zone *zone, struct err *e) {
  for (size_t i = 0, end; i < count; i = end) {
    end = i + 1;
    if (spot[i].stop) {
      if (!check_given(spot, count, i, zone, e)) return false;
      continue;
    }
    if (end == count) break; /* the last price has the step of the one before it */
    while (end + 1 < count && !spot[end].stop && step_of(spot, count, end) == step_of(spot, count, i)) end++;
    if (!check_run(spot, count, i, end, zone, e)) return false;
  }
  return true;
}

static bool check_sell(const struct spot_price *spot, size_t count, struct err *e) {
  for (size_t i = 1; i < count; i++)
    if (isnan(spot[i].sell) != isnan(spot[0].sell))
      return err_set(e, KIND_invalid, "spot price %zu has %s sell price, the one before it has %s",
                     spot[i].number, isnan(spot[i].sell) ? "no" : "a", isnan(spot[i].sell) ? "one" : "none");
  return true;
}

static bool fill_stops(struct spot_price *spot, size_t count, const struct zone *zone, struct err *e) {
  for (size_t i = 1; i < count; i++)
    if (spot[i].start <= spot[i - 1].start)
      return err_set(e, KIND_invalid, "spot price %zu does not begin after the one before it",
                     spot[i].number);
  if (!count || (count == 1 && !spot[0].stop))
    return err_set(e, KIND_invalid, "%s", count ? "one spot price is no day" : "there is no spot price");
  if (!check_sell(spot, count, e) || !check_steps(spot, count, zone, e)) return false;
  for (size_t i = 0; i < count; i++) spot[i].stop = spot[i].start + step_of(spot, count, i);
  return true;
}

/* ---- the day or week that they cover ---- */

struct window {
  int64_t from, to;
  uint32_t period; /* minutes by the wall clock */
};

static int64_t wall_minute(const struct zone *zone, int64_t utc) {
  struct civil c;
  local_clock(zone, utc, &c);
  return civil_seconds(&c) / 60;
}

/* The first moment at which the wall clock has advanced by so many minutes. */
static int64_t wall_after(const struct zone *zone, int64_t from, uint32_t minutes) {
  int64_t wanted = wall_minute(zone, from) + minutes, at = from + ((int64_t)minutes - 180) * 60;
  while (wall_minute(zone, at) < wanted) at += 60;
  return at;
}

/* The window begins with the price of this moment. */
static bool window_from(struct window *w, const struct spot_price *spot, size_t count, int64_t from,
                        const struct zone *zone, struct err *e) {
  size_t i = 0;
  while (i < count && spot[i].stop <= from) i++;
  if (i == count || spot[i].start > from)
    return missing(zone, from, i == count ? from + DAY : spot[i].start, e);
  w->from = spot[i].start, w->period = 1440;
  return true;
}

static bool choose_window(struct window *w, const struct spot_price *spot, size_t count, const int64_t *from,
                          const struct zone *zone, struct err *e) {
  int64_t end = spot[count - 1].stop, length = end - spot[0].start;
  *w = (struct window){.from = spot[0].start, .period = length <= 25 * HOUR ? 1440 : TARIFF_WEEK};
  if (from && !window_from(w, spot, count, *from, zone, e)) return false;
  w->to = wall_after(zone, w->from, w->period);
  bool too_long = end > w->to && length > (int64_t)w->period * 60;
  if (!from && (too_long || (w->period == TARIFF_WEEK && length < 6 * DAY)))
    return err_set(
        e, KIND_invalid,
        "%g hours of spot prices were given; a tariff holds a day or a week (24 or 168 hours by the "
        "clock): say with 'from' at which moment the day begins",
        (double)length / HOUR);
  return end >= w->to || missing(zone, end, w->to, e);
}

/* ---- its minutes ---- */

struct minutes { /* of a day or a week; count 0: not yet priced */
  double price[TARIFF_WEEK];
  unsigned count[TARIFF_WEEK];
};

static uint32_t minute_of_week(const struct zone *zone, int64_t utc) {
  struct civil c;
  local_clock(zone, utc, &c);
  int weekday = (civil_weekday(civil_days(c.year, c.month, c.day)) + 6) % 7;
  return (uint32_t)(weekday * 1440 + c.hour * 60 + c.minute);
}

/* At a clock change a repeated minute gets the mean of both prices, a skipped one the price before it. */
static void fill_minutes(struct minutes *all, const struct window *w, const struct spot_price *spot,
                         size_t count, enum tariff_side side, const struct zone *zone) {
  *all = (struct minutes){0};
  for (size_t i = 0; i < count; i++) {
    int64_t at = spot[i].start > w->from ? spot[i].start : w->from;
    for (; at < spot[i].stop && at < w->to; at += 60) {
      uint32_t minute = minute_of_week(zone, at) % w->period;
      all->price[minute] += side == TARIFF_BUY ? spot[i].price : spot[i].sell, all->count[minute]++;
    }
  }
  for (uint32_t i = 0; i < w->period; i++)
    if (all->count[i]) all->price[i] /= all->count[i];
  uint32_t before = minute_of_week(zone, w->from) % w->period;
  for (uint32_t i = 1; i < w->period; i++) {
    uint32_t minute = (before + 1) % w->period;
    if (!all->count[minute]) all->price[minute] = all->price[before];
    before = minute;
  }
}

/* Drops prices that a day from this moment cannot need, so that their mistakes are no errors. */
static void trim(struct spot_price **spot, size_t *count, int64_t from) {
  while (*count > 1 && (*spot)[1].start <= from) ++*spot, --*count;
  while (*count > 2 && (*spot)[*count - 2].start >= from + DAY + 2 * HOUR) --*count;
}

bool add_spot(struct price_week week[TARIFF_SIDES], struct spot_price *spot, size_t count,
              const int64_t *from, const struct zone *zone, struct err *e) {
  struct window w;
  if (from) trim(&spot, &count, *from);
  if (!fill_stops(spot, count, zone, e) || !choose_window(&w, spot, count, from, zone, e)) return false;
  struct minutes *all = malloc(sizeof *all);
  bool ok = all != NULL;
  for (int side = TARIFF_BUY; ok && side <= (isnan(spot[0].sell) ? TARIFF_BUY : TARIFF_SELL); side++) {
    fill_minutes(all, &w, spot, count, (enum tariff_side)side, zone);
    ok = add_minutes(&week[side], all->price, w.period);
  }
  free(all);
  return ok || err_out_of_memory(e);
}
