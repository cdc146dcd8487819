/* core.tariff: a checked tariff in a box, which owns its content and answers for it. */
#include "bind/lua/json.h"
#include "bind/tariff/build.h"
#include "tariff/kinds.h"

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

/* plan:weeks(side) -> its seasons by first day */
static int l_weeks(lua_State *L) {
  const struct plan_box *plan = box_check(L, 1, &plan_type);
  return push_weeks(L, plan->tariff, (enum tariff_side)side_option(L, 2));
}

/* plan:json() -> the text of tariff_content_v2, every member written out, sorted */
static int l_json(lua_State *L) {
  const struct plan_box *plan = box_check(L, 1, &plan_type);
  struct buf *text = push_scratch(L);
  tariff_encode(plan->tariff, text);
  push_buf(L, text);
  return 1;
}

static int push_content(lua_State *L, const struct tariff *t) {
  struct err e;
  err_clear(&e);
  struct buf *text = push_scratch(L);
  tariff_encode(t, text);
  if (!buf_ok(text)) return luaL_error(L, "out of memory");
  return json_decode(L, buf_bytes(text), "", &e) ? 1 : push_failure(L, &e);
}

/* plan:content() -> the same as a table */
static int l_content(lua_State *L) {
  return push_content(L, check_tariff(L));
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

static int l_at(lua_State *L) {
  return push_at(L, check_tariff(L));
}

static int l_segments(lua_State *L) {
  return push_segments(L, check_tariff(L));
}

static int l_cheapest(lua_State *L) {
  return push_cheapest(L, check_tariff(L));
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
  define_segments(L);
  lua_pop(L, 2);
  define_build(L);
  define_weeks(L);
  luaL_setfuncs(L, functions, 0);
}
