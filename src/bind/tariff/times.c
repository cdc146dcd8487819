/* Prices over time: UTC seconds where the plan has a zone, or local times { year, month, day, hour, min }. */
#include "bind/tariff/tariffs.h"
#include "bind/time/zone.h"
#include "tariff/timeline.h"

#include <math.h>
#include <stdlib.h>

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

void define_segments(lua_State *L) {
  box_define(L, &work_type);
}

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
int push_at(lua_State *L, const struct tariff *t) {
  struct timeline line = check_line(L, t, 2, 3);
  struct segment found;
  timeline_at(&line, check_years(L, &line, check_position(L, &line, 2)), &found);
  lua_createtable(L, 0, 2);
  set_sides(L, &found);
  return 1;
}

/* plan:segments(from, to, zone or nil) -> { { from, to, buy, sell }, ... } */
int push_segments(lua_State *L, const struct tariff *t) {
  struct timeline line = check_line(L, t, 2, 4);
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
int push_cheapest(lua_State *L, const struct tariff *t) {
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
