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

bool add_minutes(struct price_week *week, const double *prices, uint32_t period) {
  for (uint32_t at = 0; at < TARIFF_WEEK; at++) {
    double price = prices[at % period];
    struct stretch *last = week->stretch_count ? &week->stretches[week->stretch_count - 1] : NULL;
    if (last && last->price == price)
      last->to = at + 1;
    else if (!add_stretch(week, at, at + 1, price, (struct bytes){NULL, 0}))
      return false;
  }
  return true;
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
