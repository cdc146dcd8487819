/* Periods as minutes of the week, and the last day of periods that name none. */
#include "tariff/model.h"

static void add_span(struct tariff *t, struct season *s, uint32_t label, uint32_t from, uint32_t to) {
  struct span *span = ADD(t, spans, span);
  if (!span) {
    t->failed = true;
    return;
  }
  *span = (struct span){from, to, label};
  s->spans++;
}

/* An end at or before the start is on the next day: 16:00 to 0:00 ends with the day, 0:00 to 0:00 is a whole
 * day. The days of a range may wrap over Sunday, and a period over the end of Sunday continues on Monday. */
static void add_period(struct tariff *t, struct season *s, uint32_t label, struct tariff_period p) {
  int days = (p.to_day - p.from_day + 7) % 7 + 1;
  int length = p.to_minute > p.from_minute ? p.to_minute - p.from_minute : p.to_minute + 1440 - p.from_minute;
  for (int i = 0; i < days; i++) {
    uint32_t from = (uint32_t)((p.from_day + i) % 7 * 1440 + p.from_minute), to = from + (uint32_t)length;
    add_span(t, s, label, from, to < TARIFF_WEEK ? to : TARIFF_WEEK);
    if (to > TARIFF_WEEK) add_span(t, s, label, 0, to - TARIFF_WEEK);
  }
}

static void fill(struct tariff *t, struct season *s, int missing_day) {
  t->span_count = s->span, s->spans = 0;
  s->missing_day = missing_day;
  for (size_t i = s->label; i < s->label + s->labels; i++)
    for (size_t j = t->labels[i].period; j < t->labels[i].period + t->labels[i].periods; j++) {
      struct tariff_period p = t->periods[j];
      if (p.to_day == TARIFF_NO_DAY) p.to_day = missing_day;
      add_period(t, s, (uint32_t)i, p);
    }
}

static bool covers_once(const struct tariff *t, const struct season *s) {
  uint32_t at = 0;
  spans_sort(t->spans + s->span, s->spans);
  for (size_t i = s->span; i < s->span + s->spans; i++) {
    if (t->spans[i].from != at) return false;
    at = t->spans[i].to;
  }
  return at == TARIFF_WEEK;
}

static bool misses_days(const struct tariff *t, const struct season *s) {
  for (size_t i = s->label; i < s->label + s->labels; i++)
    if (t->labels[i].day_missing) return true;
  return false;
}

/* A missing last day may mean Sunday (people omit it) or Monday (the service omits its zero). The day with
 * which the periods cover the week exactly once is right; if neither does, Sunday. */
void fill_season_week(struct tariff *t, struct season *s) {
  enum { MONDAY = 0, SUNDAY = 6 };
  s->span = t->span_count;
  fill(t, s, SUNDAY);
  if (misses_days(t, s) && !t->failed && !covers_once(t, s)) {
    fill(t, s, MONDAY);
    if (!t->failed && !covers_once(t, s)) fill(t, s, SUNDAY);
  }
  for (size_t i = s->label; i < s->label + s->labels; i++)
    for (size_t j = t->labels[i].period; j < t->labels[i].period + t->labels[i].periods; j++) {
      struct tariff_period *p = &t->periods[j];
      if (p->to_day == TARIFF_NO_DAY) p->to_day = s->missing_day;
      t->odd_ranges[s->side][p->from_day * 7 + p->to_day] = true;
    }
}
