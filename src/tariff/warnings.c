/* Legal tariffs that are probably mistakes are reported as warnings. */
#include "tariff/model.h"

#include <stdlib.h>

/* Any string is a label, the app displays these. ALL means "no label". */
static bool is_shown(struct bytes label) {
  static const char *const shown[] = {"ON_PEAK", "OFF_PEAK", "PARTIAL_PEAK", "SUPER_OFF_PEAK", "ALL"};
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    if (is_named(label, shown[i])) return true;
  return false;
}

static bool belongs(const struct tariff *t, const struct label *label, enum tariff_side side) {
  const struct season *s = &t->seasons[label->season];
  return s->side == side && s->used && label->periods > 0;
}

static int by_name(const void *left, const void *right) {
  return compare_names(*(const struct bytes *)left, *(const struct bytes *)right);
}

static size_t drop_repeated(struct bytes *names, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || !bytes_equal(names[kept - 1], names[i])) names[kept++] = names[i];
  return kept;
}

static bool labels_not_shown(const struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  size_t first = r->name_count;
  for (size_t i = 0; i < t->label_count; i++) {
    if (!belongs(t, &t->labels[i], side) || is_shown(t->labels[i].name)) continue;
    struct bytes *name = ADD(r, names, name);
    if (!name) return false;
    *name = t->labels[i].name;
  }
  if (r->name_count == first) return true;
  qsort(r->names + first, r->name_count - first, sizeof *r->names, by_name);
  r->name_count = first + drop_repeated(r->names + first, r->name_count - first);
  struct tariff_fault *f = add_fault(r, TARIFF_LABELS_NOT_SHOWN, side);
  if (f) f->first = first, f->count = r->name_count - first;
  return f != NULL;
}

/* The app shows other ranges than every day, weekdays and weekend as repeated rows. */
static bool day_ranges(const struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  struct tariff_fault *f = NULL;
  for (uint32_t i = 0; i < 49; i++) {
    if (!t->odd_ranges[side][i] || i == 0 * 7 + 6 || i == 0 * 7 + 4 || i == 5 * 7 + 6) continue;
    if (!f && !(f = add_fault(r, TARIFF_DAY_RANGES, side))) return false;
    struct span *range = ADD(r, spans, span);
    if (!range) return false;
    *range = (struct span){i / 7, i % 7, 0};
    if (f->count++ == 0) f->first = r->span_count - 1;
  }
  return true;
}

static bool missing_days(const struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  for (size_t i = 0; i < t->side_used[side]; i++) {
    const struct season *s = first_season(t, t->by_date, side)[i];
    for (size_t j = 0; j < s->labels; j++) {
      const struct label *label = t->sorted[s->label + j];
      if (!label->day_missing) continue;
      struct tariff_fault *f = add_fault(r, TARIFF_MISSING_TO_DAY, side);
      if (!f) return false;
      f->season = s->name;
      f->label = label->name;
    }
  }
  return true;
}

/* ALL is recommended for flat tariffs. */
static bool is_flat(const struct tariff *t, enum tariff_side side, double *price) {
  const struct label *first = NULL;
  for (size_t i = 0; i < t->label_count; i++) {
    const struct label *label = &t->labels[i];
    if (!belongs(t, label, side)) continue;
    if (!label->own_price || (first && label->price[TARIFF_ENERGY] != first->price[TARIFF_ENERGY]))
      return false;
    first = label;
  }
  if (first) *price = first->price[TARIFF_ENERGY];
  return first != NULL;
}

static bool all_recommended(const struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  double price = 0;
  if (!is_flat(t, side, &price)) return true;
  struct tariff_fault *f = add_fault(r, TARIFF_ALL_RECOMMENDED, side);
  if (f) f->price = price;
  return f != NULL;
}

/* The service accepts a tariff without the demand section and the app flags it later. */
static bool missing_charges(const struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  for (size_t i = 0; i < t->block_count; i++)
    if (t->blocks[i].side == side && t->blocks[i].charges == TARIFF_DEMAND && t->blocks[i].rates) return true;
  struct tariff_fault *f = add_fault(r, TARIFF_MISSING_CHARGES, side);
  if (f) f->charges = TARIFF_DEMAND;
  return f != NULL;
}

bool check_warnings(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  return labels_not_shown(t, side, r) && day_ranges(t, side, r) && missing_days(t, side, r) &&
         all_recommended(t, side, r) && missing_charges(t, side, r);
}
