#include "tariff/raised_week.h"

#include <stdlib.h>

static bool add_stretch(struct raised_week *week, const struct label *buy, const struct label *sell,
                        uint32_t from, uint32_t to) {
  if (from >= to) return true;
  struct stretch *s = ADD(week, stretches, stretch);
  if (!s) return false;
  double own = kept_price(buy), paid = sell->price[TARIFF_ENERGY];
  double demand = buy->price[TARIFF_DEMAND];
  struct bytes base = is_named(buy->name, "ALL") ? bytes_of("BASE") : buy->name;
  *s = (struct stretch){from, to, base, base, own, own > paid ? own : paid, demand > 0 ? demand : 0};
  week->raised |= s->price > own;
  return true;
}

bool fill_week(const struct tariff *t, const struct season *buy, const struct season *sell,
               struct raised_week *week) {
  const struct span *a = season_spans(t, buy), *b = season_spans(t, sell);
  size_t i = 0, j = 0;
  while (i < buy->spans && j < sell->spans) {
    uint32_t from = a[i].from > b[j].from ? a[i].from : b[j].from, to = a[i].to < b[j].to ? a[i].to : b[j].to;
    if (!add_stretch(week, &t->labels[a[i].id], &t->labels[b[j].id], from, to)) return false;
    if (b[j].to < a[i].to)
      j++;
    else
      i++;
  }
  return true;
}

static bool same_stretch(const struct stretch *a, const struct stretch *b) {
  return a->from == b->from && a->to == b->to && a->price == b->price && bytes_equal(a->base, b->base);
}

bool same_week(const struct raised_week *a, const struct raised_week *b) {
  if (a->stretch_count != b->stretch_count) return false;
  for (size_t i = 0; i < a->stretch_count; i++)
    if (!same_stretch(&a->stretches[i], &b->stretches[i])) return false;
  return true;
}

/* ---- names: the part of a label that keeps its price keeps its name ---- */

struct bytes numbered(struct tariff *out, struct bytes base, int number) {
  struct buf text = BUF_INIT;
  buf_add(&text, base.data, base.size);
  buf_format(&text, "_%d", number);
  if (!buf_ok(&text)) out->failed = true;
  struct bytes copy = copy_text(out, buf_bytes(&text));
  buf_free(&text);
  return copy;
}

/* first: the first stretch with the same old label and new price. */
struct part {
  struct stretch *stretch, *first;
};

static int by_base(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  int order = compare_names(a->stretch->base, b->stretch->base);
  return order ? order : (a->stretch > b->stretch) - (a->stretch < b->stretch);
}

static int by_price(const void *left, const void *right) {
  const struct stretch *a = ((const struct part *)left)->stretch, *b = ((const struct part *)right)->stretch;
  int order = compare_names(a->base, b->base);
  if (!order) order = (a->price > b->price) - (a->price < b->price);
  return order ? order : (a > b) - (a < b);
}

static bool alike(const struct stretch *a, const struct stretch *b) {
  return a->price == b->price && bytes_equal(a->base, b->base);
}

/* Sorts by base, then by time, and sets first. */
static void fill_parts(struct part *parts, const struct raised_week *week) {
  size_t count = week->stretch_count;
  for (size_t i = 0; i < count; i++) parts[i].stretch = &week->stretches[i];
  qsort(parts, count, sizeof *parts, by_price);
  for (size_t i = 0; i < count; i++) {
    bool more = i > 0 && alike(parts[i - 1].stretch, parts[i].stretch);
    parts[i].first = more ? parts[i - 1].first : parts[i].stretch;
  }
  qsort(parts, count, sizeof *parts, by_base);
}

static bool is_base(const struct part *parts, size_t count, struct bytes name) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = compare_names(parts[middle].stretch->base, name);
    if (order == 0) return true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

/* The price for which the base label keeps its name: its own if it is still used, else the first. */
static double kept_by_base(const struct part *group, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (group[i].stretch->price == group[i].stretch->own) return group[i].stretch->price;
  return group[0].stretch->price;
}

/* Only an old label can have a numbered name already: then the next number is tried. */
static void name_group(struct tariff *out, const struct part *parts, size_t count, size_t from, size_t to) {
  int number = 2;
  double kept = kept_by_base(parts + from, to - from);
  for (size_t i = from; i < to; i++) {
    struct stretch *s = parts[i].stretch;
    bool anew = s == parts[i].first && s->price != kept;
    if (s != parts[i].first) s->name = parts[i].first->name;
    while (anew && !out->failed && is_base(parts, count, s->name)) s->name = numbered(out, s->base, number++);
  }
}

static bool name_stretches(struct tariff *out, struct raised_week *week) {
  size_t count = week->stretch_count;
  struct part *parts = malloc((count + 1) * sizeof *parts);
  if (!parts) return false;
  if (count) fill_parts(parts, week);
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count; to++)
      if (!bytes_equal(parts[from].stretch->base, parts[to].stretch->base)) break;
    name_group(out, parts, count, from, to);
  }
  free(parts);
  return true;
}

/* ---- the season ---- */

static bool any_demand(const struct raised_week *week) {
  for (size_t i = 0; i < week->stretch_count; i++)
    if (week->stretches[i].demand != 0) return true;
  return false;
}

/* Each name once, in order of first use. Returns how many. */
static size_t distinct_names(const struct raised_week *week, struct named *names) {
  size_t count = 0;
  for (size_t i = 0; i < week->stretch_count; i++) names[i] = (struct named){week->stretches[i].name, i, i};
  sort_names(names, week->stretch_count);
  sort_by_first(names, week->stretch_count);
  for (size_t i = 0; i < week->stretch_count; i++)
    if (names[i].first == names[i].place) names[count++] = names[i];
  return count;
}

static bool write_rates(struct tariff *out, struct bytes season, const struct raised_week *week) {
  struct named *names = malloc((week->stretch_count + 1) * sizeof *names);
  if (!names) return false;
  size_t count = distinct_names(week, names);
  for (int charges = 0; charges < TARIFF_CHARGES; charges++) {
    tariff_add_rates(out, TARIFF_BUY, (enum tariff_charges)charges, season);
    if (charges == TARIFF_DEMAND && !any_demand(week)) continue;
    for (size_t i = 0; i < count; i++) {
      const struct stretch *s = &week->stretches[names[i].place];
      tariff_add_rate(out, s->name, charges == TARIFF_ENERGY ? s->price : s->demand);
    }
  }
  free(names);
  return true;
}

void write_raised(struct tariff *out, struct bytes name, struct tariff_dates dates,
                  struct raised_week *week) {
  bool named = name_stretches(out, week);
  tariff_add_season(out, TARIFF_BUY, name, dates);
  if (!named || !write_periods(out, week->stretches, week->stretch_count) || !write_rates(out, name, week))
    out->failed = true;
}
