/* Writes a tariff as tariff_content_v2. All members are written, because the app flags a tariff that omits
 * some. Two tariffs are equal if their texts with sorted periods are equal. */
#include "tariff/content.h"
#include "tariff/model.h"

#include <stdlib.h>

enum { CONTENT_LIMIT = 1 << 28 };

struct writer {
  const struct tariff *t;
  struct arena *a;
  enum tariff_side side;
  bool sorted; /* periods by time, not in the order in which they were added */
};

/* ---- members ---- */

static void set_text(const struct writer *w, struct node *o, const char *name, enum tariff_text member) {
  node_set(o, name, node_text(w->a, w->t->text_of[w->side][member]));
}

static void set_number(const struct writer *w, struct node *o, const char *name, double value) {
  node_set(o, name, node_number(w->a, value));
}

static struct node *charges_value(const struct writer *w) {
  struct node *list = node_new(w->a, NODE_LIST);
  for (size_t i = 0; i < w->t->charge_count; i++) {
    const struct charge *charge = &w->t->charges[i];
    if (charge->side != w->side) continue;
    struct node *o = node_new(w->a, NODE_OBJECT);
    set_number(w, o, "amount", charge->amount);
    node_set(o, "name", node_text(w->a, charge->name));
    node_append(list, o);
  }
  return list;
}

static struct node *daily_demand(const struct writer *w) {
  struct bytes text = w->t->text_of[w->side][TARIFF_DAILY_DEMAND];
  return text.size ? json_read(w->a, text, NULL) : node_new(w->a, NODE_OBJECT);
}

/* ---- rates ---- */

/* A name of a tariff has no NUL at its end. */
static void set_named(struct node *o, struct bytes name, struct node *value) {
  node_set(o, "", value);
  if (value) value->name = name;
}

/* ALL is written beside the seasons, with a price, as the published example does. */
static struct node *block_value(const struct writer *w, struct bytes name, const struct block *block) {
  struct node *o = node_new(w->a, NODE_OBJECT), *rates = node_new(w->a, NODE_OBJECT);
  for (size_t i = 0; block && i < block->rates; i++) {
    const struct rate *rate = &w->t->rates[block->rate + i];
    set_named(rates, rate->label, node_number(w->a, rate->price));
  }
  if (rates && !rates->first && is_named(name, "ALL")) set_number(w, rates, "ALL", 0);
  node_set(o, "rates", rates);
  return o;
}

/* ALL and the seasons in use. */
static struct node *blocks_value(const struct writer *w, enum tariff_charges charges) {
  struct season **order = first_season(w->t, w->t->by_name, w->side);
  struct node *o = node_new(w->a, NODE_OBJECT);
  node_set(o, "ALL", block_value(w, bytes_of("ALL"), w->t->all[w->side][charges]));
  for (size_t i = 0; i < w->t->side_seasons[w->side]; i++) {
    const struct season *s = order[i];
    if (s->used && !is_named(s->name, "ALL"))
      set_named(o, s->name, block_value(w, s->name, s->block[charges]));
  }
  node_sort(o);
  return o;
}

/* ---- seasons ---- */

/* The end of the day is 0:00, as in the published example. */
static struct node *period_value(const struct writer *w, const struct tariff_period *p) {
  struct node *o = node_new(w->a, NODE_OBJECT);
  set_number(w, o, "fromDayOfWeek", p->from_day);
  set_number(w, o, "fromHour", p->from_minute / 60);
  set_number(w, o, "fromMinute", p->from_minute % 60);
  set_number(w, o, "toDayOfWeek", p->to_day);
  set_number(w, o, "toHour", p->to_minute / 60 % 24);
  set_number(w, o, "toMinute", p->to_minute % 60);
  return o;
}

static int by_time(const void *left, const void *right) {
  const struct tariff_period *a = left, *b = right;
  const int keys[][2] = {{a->from_day, b->from_day},
                         {a->to_day, b->to_day},
                         {a->from_minute, b->from_minute},
                         {a->to_minute % 1440, b->to_minute % 1440}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (keys[i][0] != keys[i][1]) return keys[i][0] - keys[i][1];
  return 0;
}

static struct node *label_value(const struct writer *w, const struct label *label) {
  struct node *o = node_new(w->a, NODE_OBJECT), *list = node_new(w->a, NODE_LIST);
  struct tariff_period *periods = arena_take(w->a, label->periods * sizeof *periods);
  for (size_t i = 0; periods && i < label->periods; i++) periods[i] = w->t->periods[label->period + i];
  if (periods && w->sorted) qsort(periods, label->periods, sizeof *periods, by_time);
  for (size_t i = 0; periods && i < label->periods; i++) node_append(list, period_value(w, &periods[i]));
  node_set(o, "periods", list);
  return o;
}

static struct node *season_value(const struct writer *w, const struct season *s) {
  struct node *o = node_new(w->a, NODE_OBJECT), *labels = node_new(w->a, NODE_OBJECT);
  set_number(w, o, "fromDay", s->dates.from_day);
  set_number(w, o, "fromMonth", s->dates.from_month);
  set_number(w, o, "toDay", s->dates.to_day);
  set_number(w, o, "toMonth", s->dates.to_month);
  for (size_t i = 0; i < s->labels; i++) {
    const struct label *label = w->t->sorted[s->label + i];
    if (label->periods) set_named(labels, label->name, label_value(w, label));
  }
  node_set(o, "tou_periods", labels);
  return o;
}

static struct node *seasons_value(const struct writer *w) {
  struct season **order = first_season(w->t, w->t->by_name, w->side);
  struct node *o = node_new(w->a, NODE_OBJECT);
  for (size_t i = 0; i < w->t->side_seasons[w->side]; i++)
    if (order[i]->used) set_named(o, order[i]->name, season_value(w, order[i]));
  return o;
}

/* ---- the whole ---- */

static struct node *side_value(const struct writer *w) {
  const double *numbers = w->t->number_of[w->side];
  struct node *o = node_new(w->a, NODE_OBJECT);
  set_text(w, o, "code", TARIFF_CODE);
  set_text(w, o, "currency", TARIFF_CURRENCY);
  node_set(o, "daily_charges", charges_value(w));
  node_set(o, "daily_demand_charges", daily_demand(w));
  node_set(o, "demand_charges", blocks_value(w, TARIFF_DEMAND));
  node_set(o, "energy_charges", blocks_value(w, TARIFF_ENERGY));
  set_number(w, o, "max_applicable_demand", numbers[TARIFF_MAX_DEMAND]);
  set_number(w, o, "min_applicable_demand", numbers[TARIFF_MIN_DEMAND]);
  set_number(w, o, "monthly_charges", numbers[TARIFF_MONTHLY]);
  set_number(w, o, "monthly_minimum_bill", numbers[TARIFF_MONTHLY_MINIMUM]);
  set_text(w, o, "name", TARIFF_NAME);
  node_set(o, "seasons", seasons_value(w));
  set_text(w, o, "utility", TARIFF_UTILITY);
  return o;
}

static struct node *content_value(const struct tariff *t, bool sorted, struct arena *a) {
  const struct writer buy = {t, a, TARIFF_BUY, sorted}, sell = {t, a, TARIFF_SELL, sorted};
  struct node *o = side_value(&buy);
  set_number(&buy, o, "version", t->number_of[TARIFF_BUY][TARIFF_VERSION]);
  if (t->side_used[TARIFF_SELL]) node_set(o, "sell_tariff", side_value(&sell));
  node_sort(o);
  return a->failed ? NULL : o;
}

struct node *tariff_content(const struct tariff *t, struct arena *a) {
  return content_value(t, false, a);
}

static void write(const struct tariff *t, bool sorted, struct buf *out) {
  struct arena a;
  struct json_refusal why;
  arena_start(&a, CONTENT_LIMIT);
  const struct node *content = content_value(t, sorted, &a);
  if (!content || !json_write(content, NULL, out, &why)) out->failed = true;
  arena_end(&a);
}

void tariff_encode(const struct tariff *t, struct buf *out) {
  write(t, false, out);
}

bool tariff_equal(const struct tariff *a, const struct tariff *b) {
  struct buf one = BUF_INIT, other = BUF_INIT;
  write(a, true, &one);
  write(b, true, &other);
  bool equal = buf_ok(&one) && buf_ok(&other) && bytes_equal(buf_bytes(&one), buf_bytes(&other));
  buf_free(&one);
  buf_free(&other);
  return equal;
}
