/* Sorts a tariff once ("sealing"), then finds its problems and what the service will change. */
#include "tariff/model.h"

#include <stdlib.h>

/* ---- sealing ---- */

static int season_by_name(const void *left, const void *right) {
  const struct season *a = *(struct season *const *)left, *b = *(struct season *const *)right;
  return a->side != b->side ? (int)a->side - (int)b->side : compare_names(a->name, b->name);
}

static int season_by_date(const void *left, const void *right) {
  const struct season *a = *(struct season *const *)left, *b = *(struct season *const *)right;
  if (a->side != b->side) return (int)a->side - (int)b->side;
  if (a->used != b->used) return a->used ? -1 : 1;
  int from = a->dates.from_month * 32 + a->dates.from_day,
      other = b->dates.from_month * 32 + b->dates.from_day;
  return from != other ? from - other : compare_names(a->name, b->name);
}

static int label_by_name(const void *left, const void *right) {
  return compare_names((*(struct label *const *)left)->name, (*(struct label *const *)right)->name);
}

static int rate_by_label(const void *left, const void *right) {
  return compare_names(((const struct rate *)left)->label, ((const struct rate *)right)->label);
}

static int block_by_season(const void *left, const void *right) {
  const struct block *a = left, *b = right;
  if (a->side != b->side) return (int)a->side - (int)b->side;
  return a->charges != b->charges ? (int)a->charges - (int)b->charges : compare_names(a->season, b->season);
}

/* A season called ALL may omit its dates if it has periods or is the only season. */
static void date_all_seasons(struct tariff *t) {
  for (size_t i = 0; i < t->season_count; i++)
    if (t->seasons[i].used) t->side_used[t->seasons[i].side]++;
  for (size_t i = 0; i < t->season_count; i++) {
    struct season *s = &t->seasons[i];
    bool dated = s->dates.from_month || s->dates.from_day || s->dates.to_month || s->dates.to_day;
    t->side_seasons[s->side]++;
    if (dated || !is_named(s->name, "ALL")) continue;
    if (!s->used && t->side_used[s->side] == 0) s->used = ++t->side_used[s->side];
    if (s->used) s->dates = (struct tariff_dates){1, 1, 12, 31};
  }
}

/* n pointers to the elements of an array that no longer moves. */
static void *pointers_to(void *array, size_t count, size_t size) {
  char **pointers = malloc((count ? count : 1) * sizeof *pointers);
  for (size_t i = 0; pointers && i < count; i++) pointers[i] = (char *)array + i * size;
  return pointers;
}

static bool sort_all(struct tariff *t) {
  t->by_name = pointers_to(t->seasons, t->season_count, sizeof *t->seasons);
  t->by_date = pointers_to(t->seasons, t->season_count, sizeof *t->seasons);
  t->sorted = pointers_to(t->labels, t->label_count, sizeof *t->labels);
  if (!t->by_name || !t->by_date || !t->sorted) return false;
  qsort(t->by_name, t->season_count, sizeof *t->by_name, season_by_name);
  qsort(t->by_date, t->season_count, sizeof *t->by_date, season_by_date);
  for (size_t i = 0; i < t->season_count; i++) {
    const struct season *s = &t->seasons[i];
    qsort(t->sorted + s->label, s->labels, sizeof *t->sorted, label_by_name);
    if (s->spans) spans_sort(t->spans + s->span, s->spans);
  }
  if (t->block_count) qsort(t->blocks, t->block_count, sizeof *t->blocks, block_by_season);
  for (size_t i = 0; i < t->block_count; i++)
    if (t->blocks[i].rates)
      qsort(t->rates + t->blocks[i].rate, t->blocks[i].rates, sizeof *t->rates, rate_by_label);
  return true;
}

/* A season with dates and without periods gets one period, the whole week, with the label ALL. match_rates
 * removes it when ALL has no price. */
static void cover_flat_seasons(struct tariff *t) {
  for (size_t i = 0; i < t->season_count && !t->failed; i++) {
    struct season *s = &t->seasons[i];
    if (!s->used || s->labels) continue;
    struct label *label = ADD(t, labels, label);
    struct span *span = label ? ADD(t, spans, span) : NULL;
    if (!span) {
      t->failed = true;
      return;
    }
    *label = (struct label){.name = bytes_of("ALL"), .season = (uint32_t)i};
    *span = (struct span){0, TARIFF_WEEK, (uint32_t)(t->label_count - 1)};
    s->label = t->label_count - 1, s->labels = 1;
    s->span = t->span_count - 1, s->spans = 1;
  }
}

static bool seal(struct tariff *t) {
  if (t->sealed) return true;
  date_all_seasons(t);
  for (size_t i = 0; i < t->season_count && !t->failed; i++) fill_season_week(t, &t->seasons[i]);
  cover_flat_seasons(t);
  if (t->failed || !sort_all(t)) return false;
  match_rates(t);
  if (!fill_year(t, TARIFF_BUY) || !fill_year(t, TARIFF_SELL)) return false;
  return t->sealed = true;
}

/* ---- checking ---- */

static bool check_side(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  if (!side_in_use(t, side)) return true;
  return check_seasons(t, side, r) && check_periods(t, side, r) && check_prices(t, side, r) &&
         check_warnings(t, side, r);
}

bool tariff_check(struct tariff *t, struct tariff_report *r, struct err *e) {
  *r = (struct tariff_report){0};
  if (!t->failed && seal(t) && check_side(t, TARIFF_BUY, r) && check_side(t, TARIFF_SELL, r) &&
      check_buy_below_sell(t, r))
    return true;
  t->failed = true;
  tariff_report_free(r);
  return err_out_of_memory(e);
}
