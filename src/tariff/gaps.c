/* Gaps and overlaps of the seasons in a year and of the periods in a week. */
#include "tariff/model.h"

#include <stdlib.h>

/* ---- the sorted names of the spans that cover a piece ---- */

enum { NAMES_REPORTED = 16 }; /* of one overlap: a hostile tariff must not make a huge report */

typedef struct bytes name_of(const struct tariff *t, uint32_t id);

static struct bytes season_name(const struct tariff *t, uint32_t id) {
  return t->seasons[id].name;
}

static struct bytes label_name(const struct tariff *t, uint32_t id) {
  return t->labels[id].name;
}

static size_t sorted_names(const struct tariff *t, const struct piece *piece, name_of *name,
                           struct bytes out[NAMES_REPORTED]) {
  size_t count = 0;
  for (size_t i = 0; i < piece->count && i < NAMES_REPORTED; i++) {
    struct bytes one = name(t, piece->covering[i].id);
    size_t at = count++;
    for (; at > 0 && compare_names(out[at - 1], one) > 0; at--) out[at] = out[at - 1];
    out[at] = one;
  }
  return count;
}

static bool same_names(const struct tariff_report *r, const struct tariff_fault *f, const struct bytes *names,
                       size_t count) {
  if (f->count != count) return false;
  for (size_t i = 0; i < count; i++)
    if (!bytes_equal(r->names[f->first + i], names[i])) return false;
  return true;
}

static bool add_names(struct tariff_report *r, struct tariff_fault *f, const struct bytes *names,
                      size_t count) {
  f->first = r->name_count;
  f->count = count;
  for (size_t i = 0; i < count; i++) {
    struct bytes *slot = ADD(r, names, name);
    if (!slot) return false;
    *slot = names[i];
  }
  return true;
}

/* ---- the sweep over spans ---- */

struct walk {
  struct tariff *t;
  struct tariff_report *r;
  enum tariff_side side;
  enum tariff_kind gap, overlap;
  name_of *name;
  struct bytes season; /* of the periods */
  uint32_t day;        /* pieces are reported day by day: minutes in a day, or the whole length */
};

/* Whether the piece continues the last fault on the same day. */
static bool extends(const struct walk *w, const struct tariff_fault *last, uint32_t from,
                    enum tariff_kind kind, const struct bytes *names, size_t count) {
  return last && last->kind == kind && last->to == from && from % w->day != 0 &&
         same_names(w->r, last, names, count);
}

static bool report_piece(const struct walk *w, size_t first_fault, const struct piece *p, uint32_t from,
                         uint32_t to) {
  struct bytes names[NAMES_REPORTED];
  size_t count = p->count ? sorted_names(w->t, p, w->name, names) : 0;
  enum tariff_kind kind = p->count ? w->overlap : w->gap;
  struct tariff_fault *last = w->r->fault_count > first_fault ? &w->r->faults[w->r->fault_count - 1] : NULL;
  if (extends(w, last, from, kind, names, count)) {
    last->to = to;
    return true;
  }
  struct tariff_fault *f = add_fault(w->r, kind, w->side);
  if (!f) return false;
  f->season = w->season;
  f->from = from;
  f->to = to;
  return add_names(w->r, f, names, count);
}

static bool report_by_day(const struct walk *w, size_t first_fault, const struct piece *p) {
  for (uint32_t from = p->from, to; from < p->to; from = to) {
    to = from - from % w->day + w->day;
    if (to > p->to) to = p->to;
    if (!report_piece(w, first_fault, p, from, to)) return false;
  }
  return true;
}

static bool walk_spans(const struct walk *w, const struct span *spans, size_t count, uint32_t length) {
  struct cover cover;
  struct piece piece;
  size_t first_fault = w->r->fault_count;
  bool ok = cover_start(&cover, spans, count, length);
  while (ok && cover_next(&cover, &piece))
    if (piece.count != 1) ok = report_by_day(w, first_fault, &piece);
  cover_free(&cover);
  return ok;
}

/* ---- seasons ---- */

static size_t add_days(struct span *out, const struct season *s, uint32_t id) {
  if (!s->used || !tariff_real_date(s->dates.from_month, s->dates.from_day) ||
      !tariff_real_date(s->dates.to_month, s->dates.to_day))
    return 0;
  uint32_t from = (uint32_t)day_of_year(s->dates.from_month, s->dates.from_day);
  uint32_t to = (uint32_t)day_of_year(s->dates.to_month, s->dates.to_day) + 1;
  if (from < to) {
    out[0] = (struct span){from, to, id};
    return 1;
  }
  out[0] = (struct span){0, to, id};
  out[1] = (struct span){from, TARIFF_YEAR, id};
  return 2;
}

static struct span *days_of_side(const struct tariff *t, enum tariff_side side, size_t *count) {
  struct span *days = malloc((t->season_count * 2 + 1) * sizeof *days);
  *count = 0;
  for (size_t i = 0; days && i < t->season_count; i++)
    if (t->seasons[i].side == side) *count += add_days(days + *count, &t->seasons[i], (uint32_t)i);
  if (days) spans_sort(days, *count);
  return days;
}

/* 29 February belongs to the season of the 28th when no season names it. */
bool fill_year(struct tariff *t, enum tariff_side side) {
  size_t count;
  struct cover cover = {0};
  struct piece piece;
  struct span *days = days_of_side(t, side, &count);
  bool ok = days && cover_start(&cover, days, count, TARIFF_YEAR);
  while (ok && cover_next(&cover, &piece))
    for (uint32_t day = piece.from; piece.count && day < piece.to; day++)
      t->year[side][day] = &t->seasons[piece.covering[0].id];
  if (!t->year[side][FEBRUARY_29]) t->year[side][FEBRUARY_29] = t->year[side][FEBRUARY_29 - 1];
  cover_free(&cover);
  free(days);
  return ok;
}

/* A gap or overlap over new year is one fault. */
static void join_new_year(struct tariff_report *r, size_t first) {
  if (r->fault_count < first + 2) return;
  struct tariff_fault *start = &r->faults[first], *end = &r->faults[r->fault_count - 1];
  if (start->from != 0 || end->to != TARIFF_YEAR || start->kind != end->kind) return;
  if (!same_names(r, end, start->count ? r->names + start->first : NULL, start->count)) return;
  end->to = start->to + TARIFF_YEAR;
  for (struct tariff_fault *f = start; f < end; f++) f[0] = f[1];
  r->fault_count--;
}

static void allow_leap_day(const struct tariff *t, enum tariff_side side, struct tariff_report *r,
                           size_t first) {
  for (size_t i = first; i < r->fault_count; i++) {
    struct tariff_fault *f = &r->faults[i];
    if (f->kind != TARIFF_SEASON_GAP || f->from != FEBRUARY_29 || !t->year[side][FEBRUARY_29]) continue;
    if (++f->from < f->to) return;
    *f = (struct tariff_fault){
        .kind = TARIFF_LEAP_DAY, .side = side, .season = t->year[side][FEBRUARY_29]->name};
    return;
  }
}

bool check_seasons(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  size_t count, first = r->fault_count;
  struct span *days = days_of_side(t, side, &count);
  struct walk walk = {t,           r,         side,       TARIFF_SEASON_GAP, TARIFF_SEASON_OVERLAP,
                      season_name, {NULL, 0}, TARIFF_YEAR};
  bool ok = days && walk_spans(&walk, days, count, TARIFF_YEAR);
  free(days);
  if (!ok) return false;
  allow_leap_day(t, side, r, first);
  join_new_year(r, first);
  for (size_t i = first; i < r->fault_count; i++)
    if (r->faults[i].to) r->faults[i].to = (r->faults[i].to - 1) % TARIFF_YEAR;
  return true;
}

/* ---- periods ---- */

bool check_periods(struct tariff *t, enum tariff_side side, struct tariff_report *r) {
  struct season **order = first_season(t, t->by_date, side);
  for (size_t i = 0; i < t->side_used[side]; i++) {
    struct walk walk = {t,   r, side, TARIFF_PERIOD_GAP, TARIFF_PERIOD_OVERLAP, label_name, order[i]->name,
                        1440};
    if (!walk_spans(&walk, season_spans(t, order[i]), order[i]->spans, TARIFF_WEEK)) return false;
  }
  return true;
}
