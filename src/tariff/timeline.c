#include "tariff/timeline.h"

#include "tariff/model.h"

/* ---- wall time of a position ---- */

struct wall_time {
  int month, day, weekday, minute, second;
};

static int monday_first(int64_t days) {
  return (civil_weekday(days) + 6) % 7;
}

static struct wall_time utc_place(const struct zone *zone, int64_t utc) {
  struct zone_time t;
  zone_local(zone, utc, &t);
  const struct civil *c = &t.civil;
  return (struct wall_time){c->month, c->day, monday_first(civil_days(c->year, c->month, c->day)),
                            c->hour * 60 + c->minute, c->second};
}

static struct wall_time local_place(int64_t minutes) {
  struct civil c;
  int64_t days = minutes / 1440 - (minutes % 1440 < 0);
  civil_date(days, &c);
  return (struct wall_time){c.month, c.day, monday_first(days), (int)(minutes - days * 1440), 0};
}

/* The position so many minutes later, or the next clock change if it comes first. */
static int64_t position_after(const struct timeline *line, int64_t at, int minutes, int second) {
  int64_t change, reached = at + minutes * 60 - second;
  if (!line->zone) return at + minutes;
  return zone_next(line->zone, at, &change) && change < reached ? change : reached;
}

void timeline_at(const struct timeline *line, int64_t position, struct segment *out) {
  struct wall_time p = line->zone ? utc_place(line->zone, position) : local_place(position);
  uint32_t until = 1440;
  out->from = position;
  for (int side = 0; side < TARIFF_SIDES; side++) {
    out->priced[side] = tariff_price(line->tariff, (enum tariff_side)side, p.month, p.day, p.weekday,
                                     p.minute, &out->side[side]);
    if (out->side[side].until < until) until = out->side[side].until;
  }
  out->to = position_after(line, position, (int)until - p.minute, p.second);
}

/* ---- the segments of a window ---- */

static bool same_side(const struct segment *a, const struct segment *b, int side) {
  if (!a->priced[side] || !b->priced[side]) return a->priced[side] == b->priced[side];
  return a->side[side].price == b->side[side].price &&
         bytes_equal(a->side[side].season, b->side[side].season) &&
         bytes_equal(a->side[side].label, b->side[side].label);
}

static bool add_segment(struct segments *out, const struct segment *one) {
  struct segment *own = ADD(out, segments, segment);
  if (own) *own = *one;
  return own;
}

bool timeline_segments(const struct timeline *line, int64_t from, int64_t to, struct segments *out) {
  struct segment now;
  for (; from < to; from = now.to) {
    timeline_at(line, from, &now);
    if (now.to > to) now.to = to;
    struct segment *last = out->segment_count ? &out->segments[out->segment_count - 1] : NULL;
    if (last && same_side(last, &now, TARIFF_BUY) && same_side(last, &now, TARIFF_SELL))
      last->to = now.to;
    else if (!add_segment(out, &now))
      return false;
  }
  return true;
}
