#include "tariff/week_periods.h"

#include <stdlib.h>

static bool extends(const struct day_row *last, const struct stretch *s, int from) {
  return last->period.to_minute == from && bytes_equal(last->name, s->name);
}

static bool add_day(struct day_rows *out, const struct stretch *stretches, size_t count, int day) {
  uint32_t start = (uint32_t)day * 1440, end = start + 1440;
  size_t first = out->row_count;
  for (size_t i = 0; i < count; i++) {
    const struct stretch *s = &stretches[i];
    int from = (int)(s->from > start ? s->from - start : 0), to = (int)(s->to < end ? s->to - start : 1440);
    if (s->to <= start || s->from >= end) continue;
    struct day_row *last = out->row_count > first ? &out->rows[out->row_count - 1] : NULL;
    if (last && extends(last, s, from)) {
      last->period.to_minute = to;
      continue;
    }
    struct day_row *row = ADD(out, rows, row);
    if (!row) return false;
    *row = (struct day_row){{day, day, from, to}, s->name, s->price};
  }
  return true;
}

/* Without rows there may be no array. */
static bool same_rows(const struct day_rows *all, size_t first, size_t second, size_t count) {
  if (!count) return true;
  const struct day_row *a = all->rows + first, *b = all->rows + second;
  for (size_t i = 0; i < count; i++)
    if (a[i].period.from_minute != b[i].period.from_minute ||
        a[i].period.to_minute != b[i].period.to_minute || !bytes_equal(a[i].name, b[i].name))
      return false;
  return true;
}

bool fill_rows(struct day_rows *out, const struct stretch *stretches, size_t count) {
  size_t before = 0, before_count = 0;
  for (int day = 0; day < 7; day++) {
    size_t first = out->row_count;
    if (!add_day(out, stretches, count, day)) return false;
    size_t rows = out->row_count - first;
    if (day > 0 && rows == before_count && same_rows(out, before, first, rows)) {
      for (size_t i = 0; i < rows; i++) out->rows[before + i].period.to_day = day;
      out->row_count = first;
    } else {
      before = first, before_count = rows;
    }
  }
  return true;
}

static void write_labels(struct tariff *out, const struct day_rows *rows, struct named *names) {
  for (size_t i = 0; i < rows->row_count; i++) names[i] = (struct named){rows->rows[i].name, i, i};
  sort_names(names, rows->row_count);
  sort_by_first(names, rows->row_count);
  for (size_t i = 0; i < rows->row_count; i++) {
    if (names[i].first == names[i].place) tariff_add_label(out, names[i].name);
    tariff_add_period(out, rows->rows[names[i].place].period);
  }
}

bool write_periods(struct tariff *out, const struct stretch *stretches, size_t count) {
  struct day_rows rows = {0};
  struct named *names = NULL;
  if (fill_rows(&rows, stretches, count)) names = malloc((rows.row_count + 1) * sizeof *names);
  if (names) write_labels(out, &rows, names);
  bool done = names != NULL;
  free(rows.rows);
  free(names);
  return done;
}
