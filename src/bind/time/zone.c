#include "bind/time/zone.h"

#include <math.h>
#include <string.h>

/* ---- arguments ---- */

static int64_t check_utc(lua_State *L, int index) {
  lua_Number seconds = floor(luaL_checknumber(L, index));
  luaL_argcheck(L, seconds >= (lua_Number)CIVIL_MIN && seconds <= (lua_Number)CIVIL_MAX, index,
                "UTC seconds of the years 0 to 9999 expected");
  return (int64_t)seconds;
}

static int check_member(lua_State *L, int table, const char *name, int fallback) {
  lua_getfield(L, table, name);
  int whole;
  lua_Integer value = lua_tointegerx(L, -1, &whole);
  if (lua_isnil(L, -1) && fallback >= 0)
    value = fallback;
  else if (!whole)
    luaL_argerror(L, table, lua_pushfstring(L, "'%s' must be a whole number", name));
  if (value < 0 || value > 9999) luaL_argerror(L, table, lua_pushfstring(L, "'%s' is out of range", name));
  lua_pop(L, 1);
  return (int)value;
}

static struct civil check_civil(lua_State *L, int table) {
  luaL_checktype(L, table, LUA_TTABLE);
  struct civil c = {check_member(L, table, "year", -1), check_member(L, table, "month", -1),
                    check_member(L, table, "day", -1),  check_member(L, table, "hour", 0),
                    check_member(L, table, "min", 0),   check_member(L, table, "sec", 0)};
  if (!civil_valid(&c))
    luaL_argerror(L, table,
                  lua_pushfstring(L, "there is no %d-%d-%d %d:%d:%d", c.year, c.month, c.day, c.hour,
                                  c.minute, c.second));
  return c;
}

static int64_t check_date(lua_State *L, int index) {
  struct err e;
  err_clear(&e);
  struct civil c;
  if (!civil_parse_date(&c, check_bytes(L, index), &e)) luaL_argerror(L, index, e.message);
  return civil_days(c.year, c.month, c.day);
}

/* ---- zone objects ---- */

struct zone_object {
  struct zone *zone;
};

static void release_zone(void *object) {
  zone_free(((struct zone_object *)object)->zone);
}

static const struct box_type zone_type;

const struct zone *check_zone(lua_State *L, int index) {
  return ((struct zone_object *)box_check(L, index, &zone_type))->zone;
}

/* zone:offset(utc) -> seconds east of Greenwich */
static int l_zone_offset(lua_State *L) {
  struct zone_time t;
  zone_local(check_zone(L, 1), check_utc(L, 2), &t);
  lua_pushinteger(L, t.offset);
  return 1;
}

/* zone:localtime(utc) -> { year, month, day, hour, min, sec, offset, isdst, abbreviation, wday }, wday 1 on
 * Sundays as in os.date */
static int l_zone_localtime(lua_State *L) {
  struct zone_time t;
  zone_local(check_zone(L, 1), check_utc(L, 2), &t);
  lua_createtable(L, 0, 10);
  set_integer(L, "year", t.civil.year), set_integer(L, "month", t.civil.month),
      set_integer(L, "day", t.civil.day);
  set_integer(L, "hour", t.civil.hour), set_integer(L, "min", t.civil.minute),
      set_integer(L, "sec", t.civil.second);
  set_integer(L, "offset", t.offset);
  set_integer(L, "wday", civil_weekday(civil_days(t.civil.year, t.civil.month, t.civil.day)) + 1);
  set_boolean(L, "isdst", t.is_dst);
  set_text(L, "abbreviation", t.abbreviation);
  return 1;
}

/* zone:utc{ year, month, day, hour = 0, min = 0, sec = 0 } -> seconds; for a time that the clock skips or
 * shows twice also "skipped" or "repeated" and the other reading. See tariff/zone.h for which is which. */
static int l_zone_utc(lua_State *L) {
  static const char *const names[] = {NULL, "skipped", "repeated"};
  const struct zone *z = check_zone(L, 1);
  struct civil c = check_civil(L, 2);
  struct zone_instants at;
  enum zone_fold fold = zone_utc(z, &c, &at);
  lua_pushinteger(L, at.utc[0]);
  if (fold == ZONE_ONCE) return 1;
  lua_pushstring(L, names[fold]);
  lua_pushinteger(L, at.utc[1]);
  return 3;
}

/* zone:next(utc) -> the first instant after utc at which the zone changes, or nil */
static int l_zone_next(lua_State *L) {
  int64_t change;
  if (!zone_next(check_zone(L, 1), check_utc(L, 2), &change)) return 0;
  lua_pushinteger(L, change);
  return 1;
}

/* zone:day("2026-03-29") -> the first instant of that local day, the first of the next one */
static int l_zone_day(lua_State *L) {
  const struct zone *z = check_zone(L, 1);
  int64_t days = check_date(L, 2);
  lua_pushinteger(L, zone_day(z, days));
  lua_pushinteger(L, zone_day(z, days + 1));
  return 2;
}

static const luaL_Reg zone_methods[] = {{"offset", l_zone_offset}, {"localtime", l_zone_localtime},
                                        {"utc", l_zone_utc},       {"next", l_zone_next},
                                        {"day", l_zone_day},       {NULL, NULL}};

static const struct box_type zone_type = {"fleet.zone", release_zone, zone_methods, NULL};

/* core.zone(name [, directory]) -> zone, or nil, err, kind. Without a directory: TZDIR, else the system's. */
static int l_zone(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const char *directory = luaL_optstring(L, 2, lua_tostring(L, lua_upvalueindex(1)));
  luaL_argcheck(L, lua_rawlen(L, 1) == strlen(name), 1, "the name contains a zero byte");
  struct err e;
  err_clear(&e);
  struct zone_object *object = box_new(L, &zone_type, sizeof *object, 0);
  if (!zone_open(&object->zone, directory, name, &e)) return push_failure(L, &e);
  box_open(L, -1);
  return 1;
}

/* ---- times and dates as text ---- */

static int push_seconds(lua_State *L, lua_Number seconds) {
  if (seconds == floor(seconds))
    lua_pushinteger(L, (lua_Integer)seconds);
  else
    lua_pushnumber(L, seconds);
  return 1;
}

/* core.time(RFC 3339 text or milliseconds) -> UTC seconds, an integer unless there is a fraction; nil, err,
 * "invalid" */
static int l_time(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (lua_type(L, 1) == LUA_TNUMBER) {
    lua_Number seconds = lua_tonumber(L, 1) / 1000;
    if (seconds >= (lua_Number)CIVIL_MIN && seconds <= (lua_Number)CIVIL_MAX) return push_seconds(L, seconds);
    err_set(&e, KIND_invalid, "the number is not in the range of milliseconds since 1970");
    return push_failure(L, &e);
  }
  expect_type(L, 1, LUA_TSTRING, "time: RFC 3339 text or milliseconds");
  int64_t utc;
  double fraction;
  if (!civil_parse_time(&utc, &fraction, check_bytes(L, 1), &e)) return push_failure(L, &e);
  return push_seconds(L, (lua_Number)utc + fraction);
}

/* core.time_text(utc [, offset]) -> RFC 3339 text */
static int l_time_text(lua_State *L) {
  int64_t utc = check_utc(L, 1);
  lua_Integer offset = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, offset > -CIVIL_DAY && offset < CIVIL_DAY, 2, "an offset within a day expected");
  struct buf *text = push_scratch(L);
  civil_format_time(text, utc, (int)offset);
  push_buf(L, text);
  return 1;
}

/* core.date_days("2026-03-29") -> days since 1970-01-01, or nil, err, "invalid" */
static int l_date_days(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct civil c;
  if (!civil_parse_date(&c, check_bytes(L, 1), &e)) return push_failure(L, &e);
  lua_pushinteger(L, civil_days(c.year, c.month, c.day));
  return 1;
}

/* core.days_date(days) -> "2026-03-29" */
static int l_days_date(lua_State *L) {
  lua_Integer days = luaL_checkinteger(L, 1);
  luaL_argcheck(L, days >= CIVIL_MIN / CIVIL_DAY && days <= CIVIL_MAX / CIVIL_DAY, 1,
                "a day of the years 0 to 9999 expected");
  struct buf *text = push_scratch(L);
  civil_format_date(text, days);
  push_buf(L, text);
  return 1;
}

/* TZDIR is read by Lua's own os.getenv, once: C's getenv would race with a host that sets variables in a
 * thread. */
static void push_directory(lua_State *L) {
  lua_getglobal(L, "os");
  if (lua_istable(L, -1))
    lua_getfield(L, -1, "getenv");
  else
    lua_pushnil(L);
  lua_remove(L, -2); /* os.getenv or nil */
  if (lua_isnil(L, -1)) return;
  lua_pushstring(L, "TZDIR");
  lua_call(L, 1, 1);
}

void open_zone(lua_State *L) {
  static const luaL_Reg functions[] = {{"time", l_time},
                                       {"time_text", l_time_text},
                                       {"date_days", l_date_days},
                                       {"days_date", l_days_date},
                                       {NULL, NULL}};
  box_define(L, &zone_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  push_directory(L);
  lua_pushcclosure(L, l_zone, 1);
  lua_setfield(L, -2, "zone");
}
