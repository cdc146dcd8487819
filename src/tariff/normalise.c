/* The tariff as the service stores it: negative prices become 0, and a buy price below the sell price is
 * raised to it. A label or season that is raised only in part is split. */
#include "tariff/raised_week.h"

#include <stdlib.h>
#include <string.h>

/* ---- runs of days with the same buy season and sell season, in the order of the year ---- */

struct run {
  const struct season *buy, *sell;
  uint32_t from, to; /* days of the leap year, both included; from > to: over new year */
  struct raised_week week;
};

struct runs {
  struct run runs[TARIFF_YEAR];
  size_t count;
};

static void join_new_year(struct runs *all) {
  struct run *first = &all->runs[0], *last = &all->runs[all->count - 1];
  if (all->count < 2 || first->buy != last->buy || first->sell != last->sell) return;
  last->to = first->to;
  memmove(first, first + 1, --all->count * sizeof *first);
}

static void find_runs(const struct tariff *t, struct runs *all) {
  for (uint32_t day = 0; day < TARIFF_YEAR; day++) {
    const struct season *buy = t->year[TARIFF_BUY][day], *sell = t->year[TARIFF_SELL][day];
    struct run *last = all->count ? &all->runs[all->count - 1] : NULL;
    if (last && last->buy == buy && last->sell == sell)
      last->to = day;
    else
      all->runs[all->count++] = (struct run){buy, sell, day, day, {0}};
  }
  join_new_year(all);
}

static bool fill_runs(const struct tariff *t, struct runs *all) {
  find_runs(t, all);
  for (size_t i = 0; i < all->count; i++) {
    struct run *run = &all->runs[i];
    if (run->buy && run->sell && !fill_week(t, run->buy, run->sell, &run->week)) return false;
  }
  return true;
}

static void free_runs(struct runs *all) {
  for (size_t i = 0; i < all->count; i++) free(all->runs[i].week.stretches);
  free(all);
}

struct season_changes { /* of one season, over its runs */
  const struct run *first;
  bool raised, several;
};

static struct season_changes changes_of(const struct runs *all, const struct season *s) {
  struct season_changes out = {NULL, false, false};
  for (size_t i = 0; i < all->count; i++) {
    const struct run *run = &all->runs[i];
    if (run->buy != s || !run->sell) continue;
    if (!out.first) out.first = run;
    out.raised |= run->week.raised;
    out.several |= !same_week(&run->week, &out.first->week);
  }
  return out;
}

/* ---- the whole ---- */

static bool is_season_name(const struct tariff *t, struct bytes name) {
  for (size_t i = 0; i < t->season_count; i++)
    if (t->seasons[i].side == TARIFF_BUY && bytes_equal(t->seasons[i].name, name)) return true;
  return false;
}

static struct bytes free_season(const struct tariff *t, struct tariff *out, struct bytes base) {
  struct bytes name = base;
  for (int n = 2; !out->failed && (is_season_name(t, name) || is_season_name(out, name)); n++)
    name = numbered(out, base, n);
  return name;
}

static struct tariff_dates run_dates(const struct run *run) {
  struct tariff_dates dates;
  tariff_date(run->from, &dates.from_month, &dates.from_day);
  tariff_date(run->to, &dates.to_month, &dates.to_day);
  return dates;
}

static void split_season(const struct tariff *t, struct runs *all, const struct season *s,
                         struct tariff *out) {
  bool first = true;
  for (size_t i = 0; i < all->count; i++) {
    struct run *run = &all->runs[i];
    if (run->buy != s) continue;
    write_raised(out, first ? s->name : free_season(t, out, s->name), run_dates(run), &run->week);
    first = false;
  }
}

static void copy_season(const struct tariff *t, const struct season *s, struct tariff *out) {
  tariff_add_season(out, s->side, s->name, s->dates);
  for (size_t i = 0; i < s->labels; i++) {
    const struct label *label = t->sorted[s->label + i];
    if (!label->periods) continue;
    tariff_add_label(out, label->name);
    for (size_t j = 0; j < label->periods; j++) tariff_add_period(out, t->periods[label->period + j]);
  }
}

static void copy_block(const struct tariff *t, const struct block *block, struct tariff *out) {
  tariff_add_rates(out, block->side, block->charges, block->season);
  for (size_t i = 0; i < block->rates; i++) {
    const struct rate *rate = &t->rates[block->rate + i];
    tariff_add_rate(out, rate->label, rate->price > 0 ? rate->price : 0);
  }
}

static void copy_content(const struct tariff *t, struct tariff *out) {
  for (int side = 0; side < TARIFF_SIDES; side++) {
    for (int i = 0; i < TARIFF_TEXTS; i++)
      tariff_set_text(out, (enum tariff_side)side, (enum tariff_text)i, t->text_of[side][i]);
    memcpy(out->number_of[side], t->number_of[side], sizeof t->number_of[side]);
  }
  for (size_t i = 0; i < t->charge_count; i++)
    tariff_add_charge(out, t->charges[i].side, t->charges[i].name, t->charges[i].amount);
}

static void write_season(const struct tariff *t, struct runs *all, const struct season *s,
                         struct tariff *out) {
  struct season_changes changes =
      s->side == TARIFF_BUY ? changes_of(all, s) : (struct season_changes){NULL, false, false};
  if (!changes.raised) {
    copy_season(t, s, out);
    for (int c = 0; c < TARIFF_CHARGES; c++)
      if (s->block[c] && !is_named(s->name, "ALL")) copy_block(t, s->block[c], out);
  } else if (changes.several) {
    split_season(t, all, s, out);
  } else {
    struct run *run = &all->runs[changes.first - all->runs];
    write_raised(out, s->name, s->dates, &run->week);
  }
}

/* A raised season called ALL has already written the rates of ALL. */
static void copy_all_blocks(const struct tariff *t, struct tariff *out) {
  size_t written = out->block_count;
  for (int side = 0; side < TARIFF_SIDES; side++)
    for (int c = 0; c < TARIFF_CHARGES; c++) {
      const struct block *all = t->all[side][c];
      bool there = false;
      for (size_t i = 0; i < written; i++)
        there |= out->blocks[i].side == (enum tariff_side)side &&
                 out->blocks[i].charges == (enum tariff_charges)c && is_named(out->blocks[i].season, "ALL");
      if (all && !there) copy_block(t, all, out);
    }
}

static void write_all(const struct tariff *t, struct runs *all, struct tariff *out) {
  copy_content(t, out);
  for (size_t i = 0; i < t->season_count; i++)
    if (t->seasons[i].used) write_season(t, all, &t->seasons[i], out);
  copy_all_blocks(t, out);
}

struct tariff *tariff_normalised(const struct tariff *t) {
  struct tariff *out = tariff_new();
  struct runs *all = calloc(1, sizeof *all);
  bool ok = out && all && fill_runs(t, all);
  if (ok) write_all(t, all, out);
  if (all) free_runs(all);
  if (ok && !out->failed) return out;
  tariff_free(out);
  return NULL;
}
