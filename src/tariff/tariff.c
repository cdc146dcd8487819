#include "tariff/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- growing arrays and names ---- */

void *add_item(void *array, size_t *count, size_t *room, size_t size) {
  char *items;
  memcpy(&items, array, sizeof items);
  if (*count == *room) {
    size_t wanted = *room ? *room * 2 : 16;
    char *grown = wanted > SIZE_MAX / 2 / size ? NULL : realloc(items, wanted * size);
    if (!grown) return NULL;
    memcpy(array, &grown, sizeof grown);
    items = grown;
    *room = wanted;
  }
  return memset(items + size * (*count)++, 0, size);
}

struct text_chunk {
  struct text_chunk *before;
  size_t size, capacity;
  unsigned char bytes[];
};

static bool add_chunk(struct tariff *t, size_t size) {
  size_t capacity = size > 4000 ? size : 4000;
  struct text_chunk *chunk = malloc(sizeof *chunk + capacity);
  if (!chunk) return !(t->failed = true);
  *chunk = (struct text_chunk){t->text, 0, capacity};
  t->text = chunk;
  return true;
}

static struct bytes copy(struct tariff *t, struct bytes name) {
  if (name.size == 0) return (struct bytes){(const unsigned char *)"", 0};
  if ((!t->text || t->text->capacity - t->text->size < name.size) && !add_chunk(t, name.size))
    return (struct bytes){NULL, 0};
  unsigned char *at = t->text->bytes + t->text->size;
  t->text->size += name.size;
  return (struct bytes){memcpy(at, name.data, name.size), name.size};
}

int compare_names(struct bytes a, struct bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool is_named(struct bytes a, const char *b) {
  return bytes_equal(a, bytes_of(b));
}

struct tariff *tariff_new(void) {
  return calloc(1, sizeof(struct tariff));
}

void tariff_free(struct tariff *t) {
  if (!t) return;
  for (struct text_chunk *chunk = t->text, *before; chunk; chunk = before) {
    before = chunk->before;
    free(chunk);
  }
  free(t->seasons), free(t->labels), free(t->spans), free(t->blocks), free(t->rates);
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
  *season = (struct season){
      .name = copy(t, name), .side = side, .dates = dates, .label = t->label_count, .span = t->span_count};
  season->used = dates.from_month || dates.from_day || dates.to_month || dates.to_day;
}

void tariff_add_label(struct tariff *t, struct bytes name) {
  struct label *label = t->season_count && !t->failed ? ADD(t, labels, label) : NULL;
  if (!label) {
    t->failed = true;
    return;
  }
  *label = (struct label){.name = copy(t, name), .season = (uint32_t)(t->season_count - 1)};
  t->seasons[label->season].labels++;
}

static void add_span(struct tariff *t, uint32_t from, uint32_t to) {
  struct span *span = ADD(t, spans, span);
  if (!span) {
    t->failed = true;
    return;
  }
  *span = (struct span){from, to, (uint32_t)(t->label_count - 1)};
  t->seasons[t->season_count - 1].spans++;
}

/* What runs over the end of Sunday goes on at the start of Monday. */
static void add_round(struct tariff *t, uint32_t from, uint32_t length) {
  uint32_t to = from + length;
  add_span(t, from, to < TARIFF_WEEK ? to : TARIFF_WEEK);
  if (to > TARIFF_WEEK) add_span(t, 0, to - TARIFF_WEEK);
}

/* doc/protocol.md#tariff-meaning: an end at or before the start lies in the next day, 0:00 ends the day, 0:00
 * to 0:00 is a whole day, and the days of a range may wrap over Sunday. */
void tariff_add_period(struct tariff *t, int from_day, int to_day, int from_minute, int to_minute,
                       bool day_missing) {
  if (t->failed || t->label_count == 0) return;
  struct label *label = &t->labels[t->label_count - 1];
  struct season *season = &t->seasons[label->season];
  label->has_period = true;
  label->day_missing |= day_missing;
  season->used = true;
  t->odd_ranges[season->side][from_day * 7 + to_day] = true;
  int length = to_minute > from_minute ? to_minute - from_minute : to_minute + 1440 - from_minute;
  for (int i = 0, days = (to_day - from_day + 7) % 7 + 1; i < days; i++)
    add_round(t, (uint32_t)((from_day + i) % 7 * 1440 + from_minute), (uint32_t)length);
}

void tariff_add_rates(struct tariff *t, enum tariff_side side, enum tariff_charges charges,
                      struct bytes season) {
  struct block *block = ADD(t, blocks, block);
  if (block)
    *block =
        (struct block){.season = copy(t, season), .side = side, .charges = charges, .rate = t->rate_count};
  else
    t->failed = true;
}

void tariff_add_rate(struct tariff *t, struct bytes label, double price) {
  struct rate *rate = t->block_count && !t->failed ? ADD(t, rates, rate) : NULL;
  if (!rate) {
    t->failed = true;
    return;
  }
  *rate = (struct rate){.label = copy(t, label), .price = price};
  t->blocks[t->block_count - 1].rates++;
}

/* ---- sealing: sorted once, before the first question ---- */

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

/* A season called ALL needs no dates when it has periods or stands alone (doc/protocol.md#tariff-meaning). */
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

/* A dated season without periods is one long period under ALL; match_rates takes it back when ALL has no
 * price. */
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
  cover_flat_seasons(t);
  if (t->failed || !sort_all(t)) return false;
  match_rates(t);
  if (!fill_year(t, TARIFF_BUY) || !fill_year(t, TARIFF_SELL)) return false;
  return t->sealed = true;
}

struct season **first_season(const struct tariff *t, struct season **order, enum tariff_side side) {
  return order + (side == TARIFF_BUY ? 0 : t->side_seasons[TARIFF_BUY]);
}

const struct span *season_spans(const struct tariff *t, const struct season *s) {
  return s->spans ? t->spans + s->span : NULL;
}

/* An empty sell_tariff, as read back, is none. */
bool side_in_use(const struct tariff *t, enum tariff_side side) {
  if (side == TARIFF_BUY || t->side_used[side]) return true;
  for (size_t i = 0; i < t->block_count; i++)
    if (t->blocks[i].side == side && t->blocks[i].rates) return true;
  return false;
}

static bool check_side(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  if (!side_in_use(t, side)) return true;
  return check_seasons(t, side, r) && check_periods(t, side, r) && check_prices(t, side, r) &&
         check_advice(t, side, r);
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

/* ---- questions ---- */

/* The span that holds the minute, or NULL and where the gap ends. */
static const struct span *span_at(const struct span *spans, size_t count, uint32_t minute,
                                  uint32_t *gap_end) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (spans[middle].from <= minute)
      low = middle + 1;
    else
      high = middle;
  }
  *gap_end = low < count ? spans[low].from : TARIFF_WEEK;
  return low > 0 && spans[low - 1].to > minute ? &spans[low - 1] : NULL;
}

bool tariff_price(const struct tariff *t, enum tariff_side side, int month, int day, int weekday, int minute,
                  struct tariff_price *out) {
  *out = (struct tariff_price){.until = 1440};
  const struct season *season =
      t->sealed && tariff_real_date(month, day) ? t->year[side][day_of_year(month, day)] : NULL;
  if (!season) return false;
  uint32_t midnight = (uint32_t)weekday * 1440, end;
  const struct span *span =
      span_at(season_spans(t, season), season->spans, midnight + (uint32_t)minute, &end);
  out->season = season->name;
  if (span) end = span->to;
  out->until = end - midnight < 1440 ? end - midnight : 1440;
  if (!span) return false;
  const struct label *label = &t->labels[span->id];
  out->label = label->name;
  out->price = label->price[TARIFF_ENERGY];
  return label->priced[TARIFF_ENERGY];
}

bool tariff_week(const struct tariff *t, enum tariff_side side, size_t i, struct tariff_week *out) {
  if (!t->sealed || i >= t->side_used[side]) return false;
  const struct season *s = first_season(t, t->by_date, side)[i];
  *out = (struct tariff_week){s->name, s->dates, season_spans(t, s), s->spans};
  return true;
}

void tariff_label(const struct tariff *t, uint32_t id, struct bytes *name, double price[TARIFF_CHARGES]) {
  *name = t->labels[id].name;
  memcpy(price, t->labels[id].price, sizeof t->labels[id].price);
}
