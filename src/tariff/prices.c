/* Which rate a label has, which label a rate is for, and what the service will change. */
#include "tariff/model.h"

#include <stdlib.h>

static bool is_all(struct bytes name) {
  return is_named(name, "ALL");
}

/* ---- rates matched to labels (doc/protocol.md#tariff-meaning) ---- */

static struct rate *find_rate(const struct tariff *t, const struct block *block, struct bytes label) {
  size_t low = 0, high = block ? block->rates : 0;
  while (low < high) {
    size_t middle = (low + high) / 2;
    struct rate *rate = &t->rates[block->rate + middle];
    int order = compare_names(rate->label, label);
    if (order == 0) return rate;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

static struct season *find_season(const struct tariff *t, enum tariff_side side, struct bytes name) {
  struct season **order = first_season(t, t->by_name, side);
  size_t low = 0, high = t->side_seasons[side];
  while (low < high) {
    size_t middle = (low + high) / 2;
    int compared = compare_names(order[middle]->name, name);
    if (compared == 0) return order[middle]->used ? order[middle] : NULL;
    if (compared < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

static void link_blocks(struct tariff *t) {
  for (size_t i = 0; i < t->block_count; i++) {
    struct block *block = &t->blocks[i];
    struct season *season = find_season(t, block->side, block->season);
    if (is_all(block->season))
      t->all[block->side][block->charges] = block;
    else if (block->rates)
      t->any_own[block->side][block->charges] = true;
    if (season && block->rates) season->block[block->charges] = block;
  }
}

/* `ALL: 0` beside priced seasons is a filler of the published example, not the gift of a season's
 * electricity. Nothing is lost where a demand charge or an export price falls back on it. */
static bool is_filler(const struct tariff *t, const struct season *s, enum tariff_charges charges,
                      const struct rate *rate) {
  return s->side == TARIFF_BUY && charges == TARIFF_ENERGY && !s->block[charges] && is_all(rate->label) &&
         rate->price == 0 && t->any_own[s->side][charges];
}

static const struct rate *rate_for(const struct tariff *t, const struct season *s,
                                   enum tariff_charges charges, struct bytes label) {
  const struct block *block = s->block[charges] ? s->block[charges] : t->all[s->side][charges];
  const struct rate *rate = find_rate(t, block, label);
  if (!rate) rate = find_rate(t, block, bytes_of("ALL"));
  return rate && !is_filler(t, s, charges, rate) ? rate : NULL;
}

static void price_label(const struct tariff *t, const struct season *s, struct label *label) {
  for (int c = 0; c < TARIFF_CHARGES; c++) {
    enum tariff_charges charges = (enum tariff_charges)c;
    struct rate *named[2] = {find_rate(t, s->block[c], label->name),
                             find_rate(t, t->all[s->side][c], label->name)};
    for (int i = 0; i < 2; i++)
      if (named[i]) named[i]->used = true;
    const struct rate *rate = rate_for(t, s, charges, label->name);
    label->priced[c] = rate != NULL;
    label->price[c] = rate ? rate->price : 0;
    if (c == TARIFF_ENERGY) label->own_price = rate && !is_all(rate->label);
  }
}

static void price_season(const struct tariff *t, struct season *s) {
  for (size_t i = 0; i < s->labels; i++) price_label(t, s, &t->labels[s->label + i]);
  /* Only a price under ALL covers a season without periods. */
  if (s->labels == 1 && !t->labels[s->label].has_period && s->spans &&
      !t->labels[s->label].priced[TARIFF_ENERGY])
    s->labels = s->spans = 0;
}

void match_rates(struct tariff *t) {
  link_blocks(t);
  for (size_t i = 0; i < t->season_count; i++)
    if (t->seasons[i].used) price_season(t, &t->seasons[i]);
}

/* ---- problems ---- */

static bool add_price_fault(struct tariff_report *r, enum tariff_kind kind, enum tariff_side side,
                            enum tariff_charges charges, struct bytes season, struct bytes label) {
  struct tariff_fault *f = add_fault(r, kind, side);
  if (!f) return false;
  f->charges = charges;
  f->season = season;
  f->label = label;
  return true;
}

static bool check_block(const struct tariff *t, const struct block *block, struct tariff_report *r) {
  bool known = is_all(block->season) || find_season(t, block->side, block->season);
  for (size_t i = 0; i < block->rates; i++) {
    const struct rate *rate = &t->rates[block->rate + i];
    if (!known || (!rate->used && !is_all(rate->label)))
      if (!add_price_fault(r, TARIFF_PRICE_WITHOUT_PERIOD, block->side, block->charges, block->season,
                           rate->label))
        return false;
    if (rate->price >= 0) continue;
    if (!add_price_fault(r, TARIFF_NEGATIVE_PRICE, block->side, block->charges, block->season, rate->label))
      return false;
    r->faults[r->fault_count - 1].price = rate->price;
  }
  return true;
}

static bool check_season(const struct tariff *t, const struct season *s, enum tariff_charges charges,
                         struct tariff_report *r) {
  for (size_t i = 0; i < s->labels; i++) {
    const struct label *label = t->sorted[s->label + i];
    if (!label->has_period || label->priced[charges]) continue;
    if (!add_price_fault(r, TARIFF_PERIOD_WITHOUT_PRICE, s->side, charges, s->name, label->name))
      return false;
  }
  return true;
}

static bool has_charges(const struct tariff *t, enum tariff_side side, enum tariff_charges charges) {
  const struct block *all = t->all[side][charges];
  return t->any_own[side][charges] || (all && all->rates);
}

bool check_prices(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  for (size_t i = 0; i < t->block_count; i++)
    if (t->blocks[i].side == side && !check_block(t, &t->blocks[i], r)) return false;
  for (int c = 0; c < TARIFF_CHARGES; c++) {
    if (c == TARIFF_DEMAND && !has_charges(t, side, TARIFF_DEMAND)) continue; /* check_advice tells */
    for (size_t i = 0; i < t->side_used[side]; i++)
      if (!check_season(t, first_season(t, t->by_date, side)[i], (enum tariff_charges)c, r)) return false;
  }
  return true;
}

/* ---- buying below selling: the service raises the buy price (doc/protocol.md#tariff-checks) ---- */

struct raise {
  const struct label *buy, *sell;
  struct span span;
};

struct raises {
  struct raise *raises;
  size_t raise_count, raise_room;
};

static double kept(const struct label *label) {
  return label->price[TARIFF_ENERGY] > 0 ? label->price[TARIFF_ENERGY] : 0;
}

static bool add_raises(struct raises *out, const struct label *buy, const struct label *sell, uint32_t from,
                       uint32_t to) {
  if (!buy->priced[TARIFF_ENERGY] || !sell->priced[TARIFF_ENERGY] || kept(buy) >= kept(sell)) return true;
  for (uint32_t end; from < to; from = end) {
    end = from - from % 1440 + 1440;
    if (end > to) end = to;
    struct raise *one = ADD(out, raises, raise);
    if (!one) return false;
    *one = (struct raise){buy, sell, {from, end, 0}};
  }
  return true;
}

static bool compare_weeks(const struct tariff *t, const struct season *buy, const struct season *sell,
                          struct raises *out) {
  if (!buy->spans || !sell->spans) return true;
  const struct span *a = season_spans(t, buy), *b = season_spans(t, sell), *a_end = a + buy->spans,
                    *b_end = b + sell->spans;
  while (a < a_end && b < b_end) {
    uint32_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
    if (from < to && !add_raises(out, &t->labels[a->id], &t->labels[b->id], from, to)) return false;
    if (a->to < b->to)
      a++;
    else
      b++;
  }
  return true;
}

static int by_labels(const void *left, const void *right) {
  const struct raise *a = left, *b = right;
  if (a->buy != b->buy) return compare_names(a->buy->name, b->buy->name);
  if (a->sell != b->sell) return compare_names(a->sell->name, b->sell->name);
  return (a->span.from > b->span.from) - (a->span.from < b->span.from);
}

static bool add_raise_fault(const struct tariff *t, struct tariff_report *r, const struct raise *raise) {
  struct tariff_fault *f = add_fault(r, TARIFF_BUY_BELOW_SELL, TARIFF_BUY);
  if (!f) return false;
  f->season = t->seasons[raise->buy->season].name;
  f->other_season = t->seasons[raise->sell->season].name;
  f->label = raise->buy->name;
  f->other_label = raise->sell->name;
  f->price = kept(raise->buy);
  f->becomes = f->other_price = kept(raise->sell);
  f->first = r->span_count;
  return true;
}

static bool add_raise_span(struct tariff_report *r, struct span span) {
  struct tariff_fault *f = &r->faults[r->fault_count - 1];
  struct span *last = f->count ? &r->spans[r->span_count - 1] : NULL;
  if (last && last->to == span.from && span.from % 1440 != 0) {
    last->to = span.to;
    return true;
  }
  struct span *slot = ADD(r, spans, span);
  if (!slot) return false;
  *slot = span;
  f->count++;
  return true;
}

static bool report_pair(const struct tariff *t, const struct season *buy, const struct season *sell,
                        struct tariff_report *r) {
  struct raises found = {0};
  bool ok = compare_weeks(t, buy, sell, &found);
  if (ok && found.raise_count) qsort(found.raises, found.raise_count, sizeof *found.raises, by_labels);
  for (size_t i = 0; ok && i < found.raise_count; i++) {
    const struct raise *raise = &found.raises[i];
    if (i == 0 || raise->buy != raise[-1].buy || raise->sell != raise[-1].sell)
      ok = add_raise_fault(t, r, raise);
    ok = ok && add_raise_span(r, raise->span);
  }
  free(found.raises);
  return ok;
}

static bool told_before(struct season *const *buy, struct season *const *sell, int day) {
  for (int i = 0; i < day; i++)
    if (buy[i] == buy[day] && sell[i] == sell[day]) return true;
  return false;
}

/* Every pair of seasons that share a day; at most one pair begins on each of the 366. */
bool check_buy_below_sell(struct tariff *t, struct tariff_report *r) {
  struct season *const *buy = t->year[TARIFF_BUY], *const *sell = t->year[TARIFF_SELL];
  for (int day = 0; day < TARIFF_YEAR; day++) {
    if (!buy[day] || !sell[day]) continue;
    if (day > 0 && buy[day] == buy[day - 1] && sell[day] == sell[day - 1]) continue;
    if (!told_before(buy, sell, day) && !report_pair(t, buy[day], sell[day], r)) return false;
  }
  return true;
}
