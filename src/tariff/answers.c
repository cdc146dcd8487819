/* Queries of a valid tariff as trees of nodes: the prices of a moment and of a window, its cheapest hours,
 * and the weeks of its seasons. */
#include "tariff/content.h"
#include "tariff/kinds.h"
#include "tariff/week_periods.h"

#include <math.h>
#include <stdlib.h>

enum { LONGEST = 10 * 366 }; /* days; a longer window is refused */

#define usage(e, ...) err_set((e), KIND_none, "fleet.tariff: " __VA_ARGS__)

/* ---- times ---- */

/* fallback -1: the member must be there. */
static bool check_whole(const struct node *when, const char *name, int low, int high, int fallback,
                        struct arena *a, struct err *e, int *out) {
  const struct node *value = node_member(when, name);
  int64_t whole = fallback;
  bool is_given = value || fallback < 0;
  if (is_given && !(node_as_whole(value, &whole) && whole >= low && whole <= high)) {
    const struct node *written = value ? node_written(a, value) : NULL;
    struct bytes got = written ? written->text : bytes_of("nil");
    return usage(e, "the time's '%s' must be a whole number from %d to %d, got %.*s", name, low, high,
                 (int)got.size, (const char *)got.data);
  }
  *out = (int)whole;
  return true;
}

static bool local_position(const struct node *when, struct arena *a, struct err *e, double *out) {
  int year, month, day, hour, minute;
  if (!node_is_table(when))
    return usage(e, "a local time { year =, month =, day =, hour =, min = } expected, got a %s",
                 node_type_name(when));
  if (!check_whole(when, "year", 0, 9999, -1, a, e, &year) ||
      !check_whole(when, "month", 1, 12, -1, a, e, &month) ||
      !check_whole(when, "day", 1, 31, -1, a, e, &day))
    return false;
  if (day > civil_month_length(year, month)) return usage(e, "there is no %04d-%02d-%02d", year, month, day);
  if (!check_whole(when, "hour", 0, 24, 0, a, e, &hour) || !check_whole(when, "min", 0, 59, 0, a, e, &minute))
    return false;
  *out = (double)(civil_days(year, month, day) * 1440 + hour * 60 + minute);
  return true;
}

static bool utc_position(const struct node *when, struct err *e, double *out) {
  if (!node_as_number(when, out)) return usage(e, "UTC seconds expected, got a %s", node_type_name(when));
  *out = floor(*out);
  return true;
}

static bool check_position(const struct timeline *line, const struct node *when, struct arena *a,
                           struct err *e, double *out) {
  return line->zone ? utc_position(when, e, out) : local_position(when, a, e, out);
}

/* A number is UTC seconds, a table is local time. */
static bool check_line(const struct tariff *t, const struct node *when, const struct zone *zone,
                       struct timeline *line, struct err *e) {
  double seconds;
  bool is_utc = node_as_number(when, &seconds);
  *line = (struct timeline){t, is_utc ? zone : NULL};
  return !is_utc || zone ||
         usage(e, "UTC seconds need a zone: fleet.tariff.new(t, { time_zone = \"Europe/Berlin\" })");
}

static bool check_years(const struct timeline *line, double position, struct err *e, int64_t *out) {
  if (line->zone && !(position >= (double)CIVIL_MIN && position <= (double)CIVIL_MAX))
    return usage(e, "UTC seconds of the years 0 to 9999 expected");
  *out = (int64_t)position;
  return true;
}

static int64_t per_hour(const struct timeline *line) {
  return line->zone ? 3600 : 60;
}

/* The segments between two times. */
static bool fill_window(const struct timeline *line, const struct node *from, const struct node *to,
                        struct arena *a, struct segments *all, struct err *e) {
  double first, last;
  int64_t start = 0, end = 0;
  if (!check_position(line, from, a, e, &first) || !check_position(line, to, a, e, &last)) return false;
  if (last <= first) return usage(e, "'to' must be after 'from'");
  if ((last - first) / (double)per_hour(line) > LONGEST * 24)
    return usage(e, "the window is longer than ten years");
  return check_years(line, first, e, &start) && check_years(line, last, e, &end) &&
         (timeline_segments(line, start, end, all) || err_out_of_memory(e));
}

static struct node *time_value(struct arena *a, const struct timeline *line, int64_t position) {
  struct civil c;
  if (line->zone) return node_integer(a, position);
  civil_from_seconds(position * 60, &c);
  struct node *o = node_new(a, NODE_OBJECT);
  node_set(o, "year", node_integer(a, c.year));
  node_set(o, "month", node_integer(a, c.month));
  node_set(o, "day", node_integer(a, c.day));
  node_set(o, "hour", node_integer(a, c.hour));
  node_set(o, "min", node_integer(a, c.minute));
  return o;
}

/* ---- prices ---- */

static void set_times(struct arena *a, struct node *o, const struct timeline *line, const struct segment *s) {
  node_set(o, "from", time_value(a, line, s->from));
  node_set(o, "to", time_value(a, line, s->to));
}

static void set_price(struct arena *a, struct node *o, const struct tariff_price *price) {
  node_set(o, "price", node_real(a, price->price));
  node_set(o, "season", node_text(a, price->season));
  node_set(o, "label", node_text(a, price->label));
}

/* Sets buy and sell, each where there is a price. */
static void set_sides(struct arena *a, struct node *o, const struct segment *s) {
  for (int side = 0; side < TARIFF_SIDES; side++) {
    if (!s->priced[side]) continue;
    struct node *price = node_new(a, NODE_OBJECT);
    set_price(a, price, &s->side[side]);
    node_set(o, tariff_side_name((enum tariff_side)side), price);
  }
}

struct node *tariff_at(const struct tariff *t, const struct node *when, const struct zone *zone,
                       struct arena *a, struct err *e) {
  struct timeline line;
  struct segment found;
  double position;
  int64_t at = 0;
  if (!check_line(t, when, zone, &line, e) || !check_position(&line, when, a, e, &position) ||
      !check_years(&line, position, e, &at))
    return NULL;
  timeline_at(&line, at, &found);
  struct node *o = node_new(a, NODE_OBJECT);
  set_sides(a, o, &found);
  return o;
}

struct node *tariff_segments(const struct tariff *t, const struct node *from, const struct node *to,
                             const struct zone *zone, struct arena *a, struct err *e) {
  struct timeline line;
  struct segments all = {0};
  struct node *list = NULL;
  if (check_line(t, from, zone, &line, e) && fill_window(&line, from, to, a, &all, e)) {
    list = node_new(a, NODE_LIST);
    for (size_t i = 0; i < all.segment_count; i++) {
      struct node *o = node_new(a, NODE_OBJECT);
      set_times(a, o, &line, &all.segments[i]);
      set_sides(a, o, &all.segments[i]);
      node_append(list, o);
    }
  }
  free(all.segments);
  return list;
}

/* ---- the cheapest hours ---- */

static struct node *parts_value(struct arena *a, const struct timeline *line, const struct segments *parts) {
  double length = 0, cost = 0;
  struct node *list = node_new(a, NODE_OBJECT);
  for (size_t i = 0; i < parts->segment_count; i++) {
    const struct segment *s = &parts->segments[i];
    struct node *o = node_new(a, NODE_OBJECT);
    length += (double)(s->to - s->from);
    cost += (double)(s->to - s->from) * s->side[TARIFF_BUY].price;
    set_times(a, o, line, s);
    set_price(a, o, &s->side[TARIFF_BUY]);
    node_append(list, o);
  }
  node_set(list, "hours", node_real(a, length / (double)per_hour(line)));
  node_set(list, "mean", node_real(a, cost / length));
  return list;
}

static struct node *cheapest(const struct timeline *line, const struct node *options, double hours,
                             struct arena *a, struct segments *all, struct segments *chosen, struct err *e) {
  const struct node *contiguous = node_member(options, "contiguous");
  bool one_stretch = contiguous && !(contiguous->type == NODE_BOOLEAN && !contiguous->boolean);
  if (!fill_window(line, node_member(options, "from"), node_member(options, "to"), a, all, e)) return NULL;
  int64_t wanted = (int64_t)floor(hours * (double)per_hour(line) + 0.5);
  if (wanted < 1) return usage(e, "'hours' must be at least a minute"), NULL;
  if (!(one_stretch ? cheapest_stretch : cheapest_parts)(all, wanted, chosen))
    return err_out_of_memory(e), NULL;
  return parts_value(a, line, chosen);
}

struct node *tariff_cheapest(const struct tariff *t, const struct node *options, const struct zone *zone,
                             struct arena *a, struct err *e) {
  struct timeline line;
  struct segments all = {0}, chosen = {0};
  double hours = 0;
  if (!node_as_number(node_member(options, "hours"), &hours) || !(hours > 0 && hours <= LONGEST * 24))
    return usage(e, "'hours' must be above 0"), NULL;
  if (!check_line(t, node_member(options, "from"), zone, &line, e)) return NULL;
  struct node *found = cheapest(&line, options, hours, a, &all, &chosen, e);
  free(all.segments);
  free(chosen.segments);
  return found;
}

/* ---- the weeks of its seasons, for charts ---- */

static struct node *span_value(struct arena *a, int64_t from, int64_t to, struct bytes label, double price) {
  struct node *o = node_new(a, NODE_OBJECT);
  node_set(o, "from", node_integer(a, from));
  node_set(o, "to", node_integer(a, to));
  node_set(o, "label", node_text(a, label));
  node_set(o, "price", node_real(a, price));
  return o;
}

/* Joins days with the same prices. */
static bool fill_days(const struct tariff *t, const struct tariff_week *week, struct day_rows *days,
                      struct arena *a) {
  struct stretch *stretches = arena_take(a, week->count * sizeof *stretches);
  for (size_t i = 0; stretches && i < week->count; i++) {
    double price[TARIFF_CHARGES];
    stretches[i] = (struct stretch){.from = week->spans[i].from, .to = week->spans[i].to};
    tariff_label(t, week->spans[i].id, &stretches[i].name, price);
    stretches[i].price = price[TARIFF_ENERGY];
  }
  return stretches && fill_rows(days, stretches, week->count);
}

static struct node *runs_value(struct arena *a, const struct day_rows *days) {
  struct node *runs = node_new(a, NODE_LIST);
  for (size_t i = 0; i < days->row_count;) {
    int day = days->rows[i].period.from_day;
    struct node *run = node_new(a, NODE_OBJECT), *spans = node_new(a, NODE_LIST);
    node_set(run, "first", node_integer(a, day));
    node_set(run, "last", node_integer(a, days->rows[i].period.to_day));
    for (; i < days->row_count && days->rows[i].period.from_day == day; i++) {
      const struct day_row *row = &days->rows[i];
      node_append(spans,
                  span_value(a, row->period.from_minute, row->period.to_minute, row->name, row->price));
    }
    node_set(run, "spans", spans);
    node_append(runs, run);
  }
  return runs;
}

static struct node *week_value(struct arena *a, const struct tariff *t, const struct tariff_week *week) {
  const int dates[] = {week->dates.from_month, week->dates.from_day, week->dates.to_month,
                       week->dates.to_day};
  struct day_rows days = {0};
  struct node *o = node_new(a, NODE_OBJECT);
  for (size_t i = 0; i < week->count; i++) {
    const struct span *span = &week->spans[i];
    struct bytes label;
    double price[TARIFF_CHARGES];
    tariff_label(t, span->id, &label, price);
    struct node *value = span_value(a, span->from, span->to, label, price[TARIFF_ENERGY]);
    node_set(value, "demand", node_real(a, price[TARIFF_DEMAND]));
    node_append(o, value);
  }
  node_set(o, "name", node_text(a, week->name));
  for (int i = 0; i < 4; i++) node_set(o, tariff_date_member(i), node_integer(a, dates[i]));
  if (fill_days(t, week, &days, a))
    node_set(o, "runs", runs_value(a, &days));
  else
    a->failed = true;
  free(days.rows);
  return o;
}

struct node *tariff_weeks(const struct tariff *t, enum tariff_side side, struct arena *a) {
  struct tariff_week week;
  struct node *list = node_new(a, NODE_LIST);
  for (size_t i = 0; tariff_week(t, side, i, &week); i++) node_append(list, week_value(a, t, &week));
  return a->failed ? NULL : list;
}
