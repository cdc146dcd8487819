/* Matches rates and labels, and reports labels without a rate and rates without a label. */
#include "tariff/model.h"

static bool is_all(struct bytes name) {
  return is_named(name, "ALL");
}

/* ---- rates matched to labels ---- */

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

/* The published example has `ALL: 0` beside seasons with prices. That is no price: electricity is not free in
 * a season without rates. Demand charges and sell prices may fall back on it. */
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
  if (s->labels == 1 && !t->labels[s->label].periods && s->spans &&
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
    if (!label->periods || label->priced[charges]) continue;
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
    if (c == TARIFF_DEMAND && !has_charges(t, side, TARIFF_DEMAND)) continue; /* check_warnings reports it */
    for (size_t i = 0; i < t->side_used[side]; i++)
      if (!check_season(t, first_season(t, t->by_date, side)[i], (enum tariff_charges)c, r)) return false;
  }
  return true;
}
