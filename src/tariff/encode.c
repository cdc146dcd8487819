/* A tariff as the JSON text that is sent: every member written out, since the service drops zero fields on
 * read-back and the app flags what was left out. */
#include "tariff/encode.h"

#include <stdlib.h>

struct writer {
  const struct tariff *t;
  enum tariff_side side;
  struct buf *out;
  enum period_order order;
};

/* ---- members ---- */

static void write_name(struct writer *w, bool first, struct bytes name) {
  if (!first) buf_put(w->out, ',');
  buf_json_string(w->out, name);
  buf_put(w->out, ':');
}

static void write_text(struct writer *w, const char *name, enum tariff_text member) {
  write_name(w, member == TARIFF_CODE, bytes_of(name));
  buf_json_string(w->out, w->t->text_of[w->side][member]);
}

static void write_number(struct writer *w, const char *name, bool first, double value) {
  write_name(w, first, bytes_of(name));
  buf_json_number(w->out, value);
}

static void write_charges(struct writer *w) {
  bool first = true;
  write_name(w, false, bytes_of("daily_charges"));
  buf_put(w->out, '[');
  for (size_t i = 0; i < w->t->charge_count; i++) {
    const struct charge *charge = &w->t->charges[i];
    if (charge->side != w->side) continue;
    buf_text_add(w->out, first ? "{" : ",{");
    write_number(w, "amount", true, charge->amount);
    write_name(w, false, bytes_of("name"));
    buf_json_string(w->out, charge->name);
    buf_put(w->out, '}');
    first = false;
  }
  buf_put(w->out, ']');
}

static void write_demand_object(struct writer *w) {
  struct bytes text = w->t->text_of[w->side][TARIFF_DAILY_DEMAND];
  write_name(w, false, bytes_of("daily_demand_charges"));
  if (text.size)
    buf_add(w->out, text.data, text.size);
  else
    buf_text_add(w->out, "{}");
}

/* ---- rates ---- */

/* ALL is written beside the seasons, with a price, as the published example does. */
static void write_block(struct writer *w, bool first, struct bytes name, const struct block *block) {
  size_t rates = block ? block->rates : 0;
  write_name(w, first, name);
  buf_text_add(w->out, "{\"rates\":{");
  for (size_t i = 0; i < rates; i++) {
    write_name(w, i == 0, w->t->rates[block->rate + i].label);
    buf_json_number(w->out, w->t->rates[block->rate + i].price);
  }
  if (rates == 0 && is_named(name, "ALL")) buf_text_add(w->out, "\"ALL\":0");
  buf_text_add(w->out, "}}");
}

/* The seasons in use by name, and ALL at its place among them. */
static void write_blocks(struct writer *w, const char *member, enum tariff_charges charges) {
  struct season **order = first_season(w->t, w->t->by_name, w->side);
  const struct block *all = w->t->all[w->side][charges];
  bool first = true, all_written = false;
  write_name(w, false, bytes_of(member));
  buf_put(w->out, '{');
  for (size_t i = 0; i < w->t->side_seasons[w->side]; i++) {
    const struct season *s = order[i];
    if (!s->used) continue;
    if (!all_written && compare_names(s->name, bytes_of("ALL")) >= 0) {
      write_block(w, first, bytes_of("ALL"), all);
      all_written = true, first = false;
    }
    if (!is_named(s->name, "ALL")) write_block(w, first, s->name, s->block[charges]), first = false;
  }
  if (!all_written) write_block(w, first, bytes_of("ALL"), all);
  buf_put(w->out, '}');
}

/* ---- seasons ---- */

/* A period that ends with the day is written as the published example has it: 0:00. */
static void write_period(struct writer *w, const struct tariff_period *p) {
  buf_put(w->out, '{');
  write_number(w, "fromDayOfWeek", true, p->from_day);
  write_number(w, "fromHour", false, p->from_minute / 60);
  write_number(w, "fromMinute", false, p->from_minute % 60);
  write_number(w, "toDayOfWeek", false, p->to_day);
  write_number(w, "toHour", false, p->to_minute / 60 % 24);
  write_number(w, "toMinute", false, p->to_minute % 60);
  buf_put(w->out, '}');
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

static void write_sorted_periods(struct writer *w, const struct tariff_period *periods, size_t count) {
  struct tariff_period *sorted = malloc(count * sizeof *sorted);
  if (!sorted) {
    w->out->failed = true;
    return;
  }
  for (size_t i = 0; i < count; i++) sorted[i] = periods[i];
  qsort(sorted, count, sizeof *sorted, by_time);
  for (size_t i = 0; i < count; i++) {
    if (i) buf_put(w->out, ',');
    write_period(w, &sorted[i]);
  }
  free(sorted);
}

static void write_label(struct writer *w, bool first, const struct label *label) {
  const struct tariff_period *periods = w->t->periods + label->period;
  write_name(w, first, label->name);
  buf_text_add(w->out, "{\"periods\":[");
  if (w->order == PERIODS_SORTED)
    write_sorted_periods(w, periods, label->periods);
  else
    for (size_t i = 0; i < label->periods; i++) {
      if (i) buf_put(w->out, ',');
      write_period(w, &periods[i]);
    }
  buf_text_add(w->out, "]}");
}

static void write_season(struct writer *w, bool first, const struct season *s) {
  bool first_label = true;
  write_name(w, first, s->name);
  buf_put(w->out, '{');
  write_number(w, "fromDay", true, s->dates.from_day);
  write_number(w, "fromMonth", false, s->dates.from_month);
  write_number(w, "toDay", false, s->dates.to_day);
  write_number(w, "toMonth", false, s->dates.to_month);
  buf_text_add(w->out, ",\"tou_periods\":{");
  for (size_t i = 0; i < s->labels; i++) {
    const struct label *label = w->t->sorted[s->label + i];
    if (label->periods) write_label(w, first_label, label), first_label = false;
  }
  buf_text_add(w->out, "}}");
}

static void write_seasons(struct writer *w) {
  struct season **order = first_season(w->t, w->t->by_name, w->side);
  bool first = true;
  write_name(w, false, bytes_of("seasons"));
  buf_put(w->out, '{');
  for (size_t i = 0; i < w->t->side_seasons[w->side]; i++)
    if (order[i]->used) write_season(w, first, order[i]), first = false;
  buf_put(w->out, '}');
}

/* ---- the whole, its members in the order of their names ---- */

static void write_side(struct writer *w) {
  const double *numbers = w->t->number_of[w->side];
  buf_put(w->out, '{');
  write_text(w, "code", TARIFF_CODE);
  write_text(w, "currency", TARIFF_CURRENCY);
  write_charges(w);
  write_demand_object(w);
  write_blocks(w, "demand_charges", TARIFF_DEMAND);
  write_blocks(w, "energy_charges", TARIFF_ENERGY);
  write_number(w, "max_applicable_demand", false, numbers[TARIFF_MAX_DEMAND]);
  write_number(w, "min_applicable_demand", false, numbers[TARIFF_MIN_DEMAND]);
  write_number(w, "monthly_charges", false, numbers[TARIFF_MONTHLY]);
  write_number(w, "monthly_minimum_bill", false, numbers[TARIFF_MONTHLY_MINIMUM]);
  write_text(w, "name", TARIFF_NAME);
  write_seasons(w);
}

void tariff_write(const struct tariff *t, enum period_order order, struct buf *out) {
  struct writer buy = {t, TARIFF_BUY, out, order}, sell = {t, TARIFF_SELL, out, order};
  write_side(&buy);
  if (t->side_used[TARIFF_SELL]) {
    write_name(&buy, false, bytes_of("sell_tariff"));
    write_side(&sell);
    write_text(&sell, "utility", TARIFF_UTILITY);
    buf_put(out, '}');
  }
  write_text(&buy, "utility", TARIFF_UTILITY);
  write_number(&buy, "version", false, t->number_of[TARIFF_BUY][TARIFF_VERSION]);
  buf_put(out, '}');
}

void tariff_encode(const struct tariff *t, struct buf *out) {
  tariff_write(t, PERIODS_AS_SENT, out);
}
