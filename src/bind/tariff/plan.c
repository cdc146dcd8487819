/* core.tariff: a checked tariff in a box, which owns its content and answers for it. */
#include "bind/lua/json.h"
#include "bind/tariff/tariffs.h"
#include "bind/time/zone.h"
#include "tariff/kinds.h"
#include "tariff/timeline.h"
#include "tariff/week_periods.h"

#include <math.h>
#include <stdlib.h>

struct plan_box {
  struct tariff *tariff;
  struct tariff_report report;
};

static void release_plan(void *object) {
  struct plan_box *plan = object;
  tariff_report_free(&plan->report);
  tariff_free(plan->tariff);
}

static int side_option(lua_State *L, int index) {
  static const char *const sides[] = {"buy", "sell", NULL};
  return luaL_checkoption(L, index, NULL, sides);
}

static const luaL_Reg plan_methods[];
static const struct box_type plan_type;

static const struct tariff *check_tariff(lua_State *L) {
  return ((struct plan_box *)box_check(L, 1, &plan_type))->tariff;
}

static int checked_within(lua_State *L, int index, int low, int high) {
  lua_Integer value = luaL_checkinteger(L, index);
  luaL_argcheck(L, value >= low && value <= high, index, "out of range");
  return (int)value;
}

/* plan:price(side, month, day, weekday, minute) -> price or nil, season, label, until */
static int l_price(lua_State *L) {
  struct plan_box *plan = box_check(L, 1, &plan_type);
  enum tariff_side side = (enum tariff_side)side_option(L, 2);
  int month = checked_within(L, 3, 1, 12), day = checked_within(L, 4, 1, 31);
  int weekday = checked_within(L, 5, 0, 6), minute = checked_within(L, 6, 0, 1439);
  struct tariff_price found;
  bool priced = tariff_price(plan->tariff, side, month, day, weekday, minute, &found);
  if (priced)
    lua_pushnumber(L, found.price);
  else
    lua_pushnil(L);
  lua_pushlstring(L, found.season.data ? (const char *)found.season.data : "", found.season.size);
  lua_pushlstring(L, found.label.data ? (const char *)found.label.data : "", found.label.size);
  lua_pushinteger(L, found.until);
  return 4;
}

/* plan:json() -> the text of tariff_content_v2, every member written out, sorted */
static int l_json(lua_State *L) {
  const struct plan_box *plan = box_check(L, 1, &plan_type);
  struct buf *text = push_scratch(L);
  tariff_encode(plan->tariff, text);
  push_buf(L, text);
  return 1;
}

/* plan:content() -> the same as a table */
static int l_content(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct buf *text = push_scratch(L);
  tariff_encode(check_tariff(L), text);
  if (!buf_ok(text)) return luaL_error(L, "out of memory");
  return json_decode(L, buf_bytes(text), "", &e) ? 1 : push_failure(L, &e);
}

/* plan:equals(other) -> whether both mean the same */
static int l_equals(lua_State *L) {
  const struct plan_box *plan = box_check(L, 1, &plan_type), *other = box_check(L, 2, &plan_type);
  lua_pushboolean(L, tariff_equal(plan->tariff, other->tariff));
  return 1;
}

/* A plan without a tariff yet, in its box. */
static struct plan_box *push_plan(lua_State *L) {
  struct plan_box *plan = box_new(L, &plan_type, sizeof *plan, 0);
  box_open(L, -1);
  return plan;
}

/* Checks the tariff of the plan on top of the stack and pushes the report. */
static void push_checked(lua_State *L, struct plan_box *plan, int problems, lua_Integer count,
                         unsigned allowed) {
  if (!plan->tariff || !tariff_check(plan->tariff, &plan->report, NULL)) luaL_error(L, "out of memory");
  push_tariff_report(L, &plan->report, problems, count, allowed);
  tariff_report_free(&plan->report);
}

/* plan:normalised() -> plan, report: of the tariff that the service will keep */
static int l_normalised(lua_State *L) {
  const struct plan_box *plan = box_check(L, 1, &plan_type);
  lua_settop(L, 1);
  lua_newtable(L);
  struct plan_box *other = push_plan(L); /* plan problems other */
  other->tariff = tariff_normalised(plan->tariff);
  push_checked(L, other, 2, 0, 0);
  return 2;
}

/* ---- prices over time: UTC seconds where the plan has a zone, or local times { year, month, day, hour, min
 * } ---- */

enum { LONGEST = 10 * 366 }; /* days; a window of more is a mistake, not a plan */

/* ---- the work of a call, freed with it ---- */

struct work {
  struct segments all, chosen;
};

static void release_work(void *object) {
  struct work *work = object;
  free(work->all.segments), free(work->chosen.segments);
}

static const struct box_type work_type = {"fleet.tariff_segments", release_work, NULL, NULL};

static struct work *push_work(lua_State *L) {
  struct work *work = box_new(L, &work_type, sizeof *work, 0);
  box_open(L, -1);
  return work;
}

/* ---- times from Lua ---- */

static int check_whole(lua_State *L, int when, const char *name, int low, int high, int fallback) {
  lua_getfield(L, when, name);
  if (lua_isnil(L, -1) && fallback >= 0) lua_pushinteger(L, fallback), lua_replace(L, -2);
  double value = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (!(value >= low && value <= high && value == floor(value)))
    usage_error(L, "fleet.tariff: the time's '%s' must be a whole number from %d to %d, got %s", name, low,
                high, luaL_tolstring(L, -1, NULL));
  lua_pop(L, 1);
  return (int)value;
}

static double local_position(lua_State *L, int when) {
  if (!lua_istable(L, when))
    usage_error(L, "fleet.tariff: a local time { year =, month =, day =, hour =, min = } expected, got a %s",
                luaL_typename(L, when));
  int year = check_whole(L, when, "year", 0, 9999, -1), month = check_whole(L, when, "month", 1, 12, -1),
      day = check_whole(L, when, "day", 1, 31, -1);
  if (day > civil_month_length(year, month)) {
    struct buf *date = push_scratch(L);
    buf_format(date, "%04d-%02d-%02d", year, month, day);
    usage_error(L, "fleet.tariff: there is no %s", buf_text(date));
  }
  int minute = check_whole(L, when, "hour", 0, 24, 0) * 60 + check_whole(L, when, "min", 0, 59, 0);
  return (double)(civil_days(year, month, day) * 1440 + minute);
}

static double utc_position(lua_State *L, int when) {
  if (lua_type(L, when) != LUA_TNUMBER)
    usage_error(L, "fleet.tariff: UTC seconds expected, got a %s", luaL_typename(L, when));
  return floor(lua_tonumber(L, when));
}

static double check_position(lua_State *L, const struct timeline *line, int when) {
  return line->zone ? utc_position(L, when) : local_position(L, when);
}

/* when chooses the kind of time. */
static struct timeline check_line(lua_State *L, const struct tariff *t, int when, int zone) {
  struct timeline line = {t, NULL};
  if (lua_type(L, when) != LUA_TNUMBER) return line;
  if (lua_isnoneornil(L, zone))
    usage_error(
        L, "fleet.tariff: UTC seconds need a zone: fleet.tariff.new(t, { time_zone = \"Europe/Berlin\" })");
  line.zone = check_zone(L, zone);
  return line;
}

static int64_t check_years(lua_State *L, const struct timeline *line, double position) {
  if (line->zone && !(position >= (double)CIVIL_MIN && position <= (double)CIVIL_MAX))
    usage_error(L, "fleet.tariff: UTC seconds of the years 0 to 9999 expected");
  return (int64_t)position;
}

static int64_t per_hour(const struct timeline *line) {
  return line->zone ? 3600 : 60;
}

/* The segments between two times in the work's first list. */
static void fill_window(lua_State *L, const struct timeline *line, int from, int to, struct work *work) {
  double first = check_position(L, line, from), last = check_position(L, line, to);
  if (last <= first) usage_error(L, "fleet.tariff: 'to' must be after 'from'");
  if ((last - first) / (double)per_hour(line) > LONGEST * 24)
    usage_error(L, "fleet.tariff: the window is longer than ten years");
  int64_t start = check_years(L, line, first), end = check_years(L, line, last);
  if (!timeline_segments(line, start, end, &work->all)) luaL_error(L, "out of memory");
}

/* ---- answers ---- */

static void push_time(lua_State *L, const struct timeline *line, int64_t position) {
  struct civil c;
  if (line->zone) {
    lua_pushinteger(L, position);
    return;
  }
  civil_from_seconds(position * 60, &c);
  lua_createtable(L, 0, 5);
  set_integer(L, "year", c.year), set_integer(L, "month", c.month), set_integer(L, "day", c.day);
  set_integer(L, "hour", c.hour), set_integer(L, "min", c.minute);
}

static void set_times(lua_State *L, const struct timeline *line, const struct segment *s) {
  push_time(L, line, s->from), lua_setfield(L, -2, "from");
  push_time(L, line, s->to), lua_setfield(L, -2, "to");
}

static void set_price(lua_State *L, const struct tariff_price *price) {
  lua_pushnumber(L, price->price), lua_setfield(L, -2, "price");
  set_bytes(L, "season", price->season);
  set_bytes(L, "label", price->label);
}

/* Sets buy and sell of the table on top, each where there is a price. */
static void set_sides(lua_State *L, const struct segment *s) {
  for (int side = 0; side < TARIFF_SIDES; side++) {
    if (!s->priced[side]) continue;
    lua_createtable(L, 0, 3);
    set_price(L, &s->side[side]);
    lua_setfield(L, -2, side_name((enum tariff_side)side));
  }
}

/* plan:at(when, zone or nil) -> { buy = { price, season, label }, sell = the same or nil } */
static int l_at(lua_State *L) {
  struct timeline line = check_line(L, check_tariff(L), 2, 3);
  struct segment found;
  timeline_at(&line, check_years(L, &line, check_position(L, &line, 2)), &found);
  lua_createtable(L, 0, 2);
  set_sides(L, &found);
  return 1;
}

/* plan:segments(from, to, zone or nil) -> { { from, to, buy, sell }, ... } */
static int l_segments(lua_State *L) {
  struct timeline line = check_line(L, check_tariff(L), 2, 4);
  lua_settop(L, 4);
  struct work *work = push_work(L);
  fill_window(L, &line, 2, 3, work);
  lua_createtable(L, (int)work->all.segment_count, 0);
  for (size_t i = 0; i < work->all.segment_count; i++) {
    lua_createtable(L, 0, 4);
    set_times(L, &line, &work->all.segments[i]);
    set_sides(L, &work->all.segments[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  box_close(L, 5);
  return 1;
}

/* ---- the cheapest hours ---- */

static double check_hours(lua_State *L, int options) {
  lua_getfield(L, options, "hours");
  double hours = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (!(hours > 0 && hours <= LONGEST * 24)) usage_error(L, "fleet.tariff: 'hours' must be above 0");
  lua_pop(L, 1);
  return hours;
}

static void push_parts(lua_State *L, const struct timeline *line, const struct segments *parts) {
  double length = 0, cost = 0;
  lua_createtable(L, (int)parts->segment_count, 2);
  for (size_t i = 0; i < parts->segment_count; i++) {
    const struct segment *s = &parts->segments[i];
    length += (double)(s->to - s->from);
    cost += (double)(s->to - s->from) * s->side[TARIFF_BUY].price;
    lua_createtable(L, 0, 5);
    set_times(L, line, s);
    set_price(L, &s->side[TARIFF_BUY]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushnumber(L, length / (double)per_hour(line)), lua_setfield(L, -2, "hours");
  lua_pushnumber(L, cost / length), lua_setfield(L, -2, "mean");
}

/* plan:cheapest({ hours, from, to, contiguous }, zone or nil) -> { hours, mean, { from, to, price, season,
 * label }, ... } */
static int l_cheapest(lua_State *L) {
  const struct tariff *t = check_tariff(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  double hours = check_hours(L, 2);
  lua_getfield(L, 2, "from"), lua_getfield(L, 2, "to"), lua_getfield(L, 2, "contiguous"); /* 4 5 6 */
  struct timeline line = check_line(L, t, 4, 3);
  struct work *work = push_work(L); /* 7 */
  fill_window(L, &line, 4, 5, work);
  int64_t wanted = (int64_t)floor(hours * (double)per_hour(&line) + 0.5);
  if (wanted < 1) usage_error(L, "fleet.tariff: 'hours' must be at least a minute");
  bool fits = lua_toboolean(L, 6) ? cheapest_stretch(&work->all, wanted, &work->chosen)
                                  : cheapest_parts(&work->all, wanted, &work->chosen);
  if (!fits) return luaL_error(L, "out of memory");
  push_parts(L, &line, &work->chosen);
  box_close(L, 7);
  return 1;
}

/* ---- the weeks of its seasons, as pictures of it need them ---- */

static void release_rows(void *object) {
  free(((struct day_rows *)object)->rows);
}

static const struct box_type rows_type = {"fleet.tariff_rows", release_rows, NULL, NULL};

static void push_span(lua_State *L, lua_Integer from, lua_Integer to, struct bytes label, double price) {
  lua_createtable(L, 0, 5);
  set_integer(L, "from", from), set_integer(L, "to", to);
  set_bytes(L, "label", label);
  lua_pushnumber(L, price), lua_setfield(L, -2, "price");
}

static void push_week_span(lua_State *L, const struct tariff *t, const struct span *span) {
  struct bytes name;
  double price[TARIFF_CHARGES];
  tariff_label(t, span->id, &name, price);
  push_span(L, span->from, span->to, name, price[TARIFF_ENERGY]);
  lua_pushnumber(L, price[TARIFF_DEMAND]), lua_setfield(L, -2, "demand");
}

/* ---- days that are alike ---- */

/* The box of the rows stays on the stack, and the stretches below it. */
static struct day_rows *push_rows(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  struct stretch *stretches = lua_newuserdatauv(L, (week->count + 1) * sizeof *stretches, 0);
  for (size_t i = 0; i < week->count; i++) {
    double price[TARIFF_CHARGES];
    stretches[i] = (struct stretch){.from = week->spans[i].from, .to = week->spans[i].to};
    tariff_label(t, week->spans[i].id, &stretches[i].name, price);
    stretches[i].price = price[TARIFF_ENERGY];
  }
  struct day_rows *rows = box_new(L, &rows_type, sizeof *rows, 0);
  box_open(L, -1);
  if (!fill_rows(rows, stretches, week->count)) luaL_error(L, "out of memory");
  return rows;
}

/* Pushes { first, last, spans = { { from, to, label, price }, ... } } of the rows from place i; the place
 * after them. */
static size_t push_run(lua_State *L, const struct day_rows *rows, size_t i) {
  int day = rows->rows[i].period.from_day;
  lua_createtable(L, 0, 3);
  set_integer(L, "first", day), set_integer(L, "last", rows->rows[i].period.to_day);
  lua_newtable(L);
  for (lua_Integer n = 1; i < rows->row_count && rows->rows[i].period.from_day == day; i++, n++) {
    const struct day_row *row = &rows->rows[i];
    push_span(L, row->period.from_minute, row->period.to_minute, row->name, row->price);
    lua_rawseti(L, -2, n);
  }
  lua_setfield(L, -2, "spans");
  return i;
}

/* Sets runs of the table on top. */
static void set_runs(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  int top = lua_gettop(L);
  const struct day_rows *rows = push_rows(L, t, week);
  lua_newtable(L);
  size_t i = 0;
  for (lua_Integer n = 1; i < rows->row_count; n++) {
    i = push_run(L, rows, i);
    lua_rawseti(L, -2, n);
  }
  lua_setfield(L, top, "runs");
  box_close(L, top + 2);
  lua_settop(L, top);
}

static void push_week(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  const int dates[] = {week->dates.from_month, week->dates.from_day, week->dates.to_month,
                       week->dates.to_day};
  lua_createtable(L, (int)week->count, 6);
  set_bytes(L, "name", week->name);
  for (int i = 0; i < 4; i++) set_integer(L, tariff_date_member(i), dates[i]);
  for (size_t i = 0; i < week->count; i++) {
    push_week_span(L, t, &week->spans[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_runs(L, t, week);
}

/* plan:weeks(side) -> its seasons by first day { { name, fromMonth, ..., { from, to, label, price, demand },
 * ..., runs = { { first, last, spans
 * }, ... } }, ... }: a run is days that are alike, Monday is 0. */
static int l_weeks(lua_State *L) {
  const struct tariff *t = check_tariff(L);
  enum tariff_side side = (enum tariff_side)side_option(L, 2);
  struct tariff_week week;
  lua_newtable(L);
  for (size_t i = 0; tariff_week(t, side, i, &week); i++) {
    push_week(L, t, &week);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg plan_methods[] = {{"price", l_price},
                                        {"weeks", l_weeks},
                                        {"json", l_json},
                                        {"content", l_content},
                                        {"equals", l_equals},
                                        {"normalised", l_normalised},
                                        {"at", l_at},
                                        {"segments", l_segments},
                                        {"cheapest", l_cheapest},
                                        {NULL, NULL}};
static const struct box_type plan_type = {"fleet.tariff_plan", release_plan, plan_methods, NULL};

/* core.tariff(table, any_currency, stored) -> plan, report; any_currency: an unknown one is a warning;
 * stored: so are unknown members */
static int l_tariff(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkstack(L, 60, NULL);
  unsigned allowed = (lua_toboolean(L, 2) ? ALLOW_CURRENCY : 0) | (lua_toboolean(L, 3) ? ALLOW_UNKNOWN : 0);
  lua_settop(L, 1);
  lua_newtable(L);
  struct plan_box *plan = push_plan(L); /* table problems plan */
  plan->tariff = tariff_new();
  if (!plan->tariff) return luaL_error(L, "out of memory");
  lua_pushvalue(L, 1);
  if (is_older_tariff(L)) { /* one problem says it all: nothing in it is read */
    lua_pop(L, 1);
    lua_createtable(L, 0, 2);
    set_text(L, "kind", "older_form");
    lua_rawseti(L, 2, 1);
    if (!tariff_check(plan->tariff, &plan->report, NULL)) return luaL_error(L, "out of memory");
    tariff_report_free(&plan->report); /* of a tariff without anything */
    push_tariff_report(L, &plan->report, 2, 1, allowed);
    return 2;
  }
  lua_Integer count = read_tariff(L, plan->tariff, 2);
  lua_pop(L, 1);
  push_checked(L, plan, 2, count, allowed);
  return 2;
}

/* (options, zone) -> plan, report, what the builder leaves; or nil, err, kind for wrong prices of a feed */
static int push_built(lua_State *L, tariff_builder *build) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkstack(L, 60, NULL);
  struct err e;
  err_clear(&e);
  lua_settop(L, 2);
  lua_getfield(L, 1, "any_currency");
  bool any_currency = lua_toboolean(L, 3);
  lua_settop(L, 2);
  lua_newtable(L);
  struct plan_box *plan = push_plan(L); /* options zone problems plan */
  plan->tariff = tariff_new();
  if (!plan->tariff) return luaL_error(L, "out of memory");
  lua_Integer count = build(L, plan->tariff, 3, &e);
  if (count < 0) {
    box_close(L, 4);
    return push_failure(L, &e);
  }
  push_checked(L, plan, 3, count, any_currency ? ALLOW_CURRENCY : 0);
  lua_insert(L, -2);
  return 3;
}

/* core.tariff_flat(options) -> plan, report */
static int l_flat(lua_State *L) {
  return push_built(L, build_flat);
}

/* core.tariff_rows(options, zone or nil) -> plan, report, groups: how prices became labels */
static int l_rows(lua_State *L) {
  return push_built(L, build_rows);
}

/* core.tariff_kinds() -> list of { name =, sentence = }: the kinds of finding */
static int l_kinds(lua_State *L) {
  lua_newtable(L);
  lua_Integer i = 1;
  for (const struct tariff_kind_row *row = tariff_kind_rows; row->name; row++, i++) {
    lua_createtable(L, 0, 2);
    set_text(L, "name", row->name);
    set_text(L, "sentence", row->sentence);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

void open_tariffs(lua_State *L) {
  static const luaL_Reg functions[] = {{"tariff", l_tariff},
                                       {"tariff_flat", l_flat},
                                       {"tariff_rows", l_rows},
                                       {"tariff_kinds", l_kinds},
                                       {NULL, NULL}};
  box_define(L, &plan_type);
  box_define(L, &work_type);
  box_define(L, &rows_type);
  lua_pop(L, 3);
  define_build(L);
  luaL_setfuncs(L, functions, 0);
}
