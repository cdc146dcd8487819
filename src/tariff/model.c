/* The arrays of a tariff: adding to them, and functions that the other files of this folder share. */
#include "tariff/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

struct bytes copy_text(struct tariff *t, struct bytes name) {
  if (name.size == 0) return (struct bytes){(const unsigned char *)"", 0};
  unsigned char *own = arena_take(&t->names, name.size);
  t->failed |= !own;
  return own ? (struct bytes){memcpy(own, name.data, name.size), name.size} : (struct bytes){NULL, 0};
}

struct tariff *tariff_new(void) {
  struct tariff *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  arena_start(&t->names, SIZE_MAX / 2);
  t->number_of[TARIFF_BUY][TARIFF_VERSION] = 1;
  return t;
}

void tariff_free(struct tariff *t) {
  if (!t) return;
  arena_end(&t->names);
  free(t->seasons), free(t->labels), free(t->periods), free(t->spans), free(t->blocks), free(t->rates);
  free(t->charges);
  free(t->sorted), free(t->by_name), free(t->by_date);
  free(t);
}

/* ---- adding ---- */

void tariff_add_season(struct tariff *t, enum tariff_side side, struct bytes name,
                       struct tariff_dates dates) {
  struct season *season = ADD(t, seasons, season);
  if (!season) {
    t->failed = true;
    return;
  }
  *season =
      (struct season){.name = copy_text(t, name), .side = side, .dates = dates, .label = t->label_count};
  season->used = dates.from_month || dates.from_day || dates.to_month || dates.to_day;
}

void tariff_add_label(struct tariff *t, struct bytes name) {
  struct label *label = t->season_count && !t->failed ? ADD(t, labels, label) : NULL;
  if (!label) {
    t->failed = true;
    return;
  }
  *label = (struct label){
      .name = copy_text(t, name), .season = (uint32_t)(t->season_count - 1), .period = t->period_count};
  t->seasons[label->season].labels++;
}

void tariff_add_period(struct tariff *t, struct tariff_period period) {
  struct tariff_period *own = t->label_count && !t->failed ? ADD(t, periods, period) : NULL;
  if (!own) {
    t->failed = true;
    return;
  }
  *own = period;
  struct label *label = &t->labels[t->label_count - 1];
  label->periods++;
  label->day_missing |= period.to_day == TARIFF_NO_DAY;
  t->seasons[label->season].used = true;
}

void tariff_add_rates(struct tariff *t, enum tariff_side side, enum tariff_charges charges,
                      struct bytes season) {
  struct block *block = ADD(t, blocks, block);
  if (block)
    *block = (struct block){
        .season = copy_text(t, season), .side = side, .charges = charges, .rate = t->rate_count};
  else
    t->failed = true;
}

void tariff_add_rate(struct tariff *t, struct bytes label, double price) {
  struct rate *rate = t->block_count && !t->failed ? ADD(t, rates, rate) : NULL;
  if (!rate) {
    t->failed = true;
    return;
  }
  *rate = (struct rate){.label = copy_text(t, label), .price = price};
  t->blocks[t->block_count - 1].rates++;
}

void tariff_add_charge(struct tariff *t, enum tariff_side side, struct bytes name, double amount) {
  struct charge *charge = ADD(t, charges, charge);
  if (charge)
    *charge = (struct charge){copy_text(t, name), side, amount};
  else
    t->failed = true;
}

void tariff_set_text(struct tariff *t, enum tariff_side side, enum tariff_text member, struct bytes text) {
  t->text_of[side][member] = copy_text(t, text);
}

void tariff_set_number(struct tariff *t, enum tariff_side side, enum tariff_number member, double value) {
  t->number_of[side][member] = value;
}

/* ---- seasons and sides ---- */

struct season **first_season(const struct tariff *t, struct season **order, enum tariff_side side) {
  return order + (side == TARIFF_BUY ? 0 : t->side_seasons[TARIFF_BUY]);
}

const struct span *season_spans(const struct tariff *t, const struct season *s) {
  return s->spans ? t->spans + s->span : NULL;
}

/* The service returns an empty sell_tariff when there is none. */
bool side_in_use(const struct tariff *t, enum tariff_side side) {
  if (side == TARIFF_BUY || t->side_used[side]) return true;
  for (size_t i = 0; i < t->block_count; i++)
    if (t->blocks[i].side == side && t->blocks[i].rates) return true;
  return false;
}

/* ---- days of the leap year ---- */

static const unsigned char month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

bool tariff_real_date(int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= month_days[month - 1];
}

void tariff_date(uint32_t day, int *month, int *date) {
  for (*month = 1; *month < 12 && day >= month_days[*month - 1]; ++*month) day -= month_days[*month - 1];
  *date = (int)day + 1;
}

int day_of_year(int month, int day) {
  int days = day - 1;
  for (int i = 0; i < month - 1; i++) days += month_days[i];
  return days;
}

/* ---- the report ---- */

struct tariff_fault *add_fault(struct tariff_report *r, enum tariff_kind kind, enum tariff_side side) {
  struct tariff_fault *fault = ADD(r, faults, fault);
  if (!fault) return NULL;
  fault->kind = kind;
  fault->side = side;
  return fault;
}

void tariff_report_free(struct tariff_report *r) {
  free(r->faults), free(r->names), free(r->spans);
  *r = (struct tariff_report){0};
}
