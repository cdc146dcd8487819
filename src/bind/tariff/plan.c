/* core.tariff: a checked tariff in a box. Tables become trees of nodes for the core, and its answers tables.
 */
#include "bind/lua/bind.h"
#include "bind/lua/value.h"
#include "bind/time/zone.h"
#include "tariff/content.h"
#include "tariff/kinds.h"

struct plan_box {
  struct tariff *tariff;
};

static void release_plan(void *object) {
  tariff_free(((struct plan_box *)object)->tariff);
}

static const luaL_Reg plan_methods[];
static const struct box_type plan_type;

static struct tariff *check_tariff(lua_State *L, int index) {
  return ((struct plan_box *)box_check(L, index, &plan_type))->tariff;
}

/* Pushes a plan without a tariff yet. */
static struct plan_box *push_plan(lua_State *L) {
  struct plan_box *plan = box_new(L, &plan_type, sizeof *plan, 0);
  box_open(L, -1);
  return plan;
}

static struct tariff *keep_tariff(lua_State *L, struct plan_box *plan, struct tariff *t) {
  if (!t) luaL_error(L, "out of memory");
  return plan->tariff = t;
}

static struct tariff *push_new_plan(lua_State *L) {
  struct plan_box *plan = push_plan(L);
  return keep_tariff(L, plan, tariff_new());
}

static const struct zone *zone_at(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? NULL : check_zone(L, index);
}

/* The answer, or what the core says in its place. The arena is at index. */
static int push_answer(lua_State *L, const struct node *answer, int arena, const struct err *e) {
  if (answer)
    push_value(L, answer);
  else if (e->kind == KIND_none && e->message[0])
    return usage_error(L, "%s", e->message);
  else if (e->kind == KIND_invalid)
    return push_failure(L, e);
  else
    return luaL_error(L, "out of memory");
  box_close(L, arena);
  return 1;
}

/* ---- one plan ---- */

static enum tariff_side check_side(lua_State *L, int index) {
  static const char *const sides[] = {"buy", "sell", NULL};
  return (enum tariff_side)luaL_checkoption(L, index, NULL, sides);
}

static int check_within(lua_State *L, int index, int low, int high) {
  lua_Integer value = luaL_checkinteger(L, index);
  luaL_argcheck(L, value >= low && value <= high, index, "out of range");
  return (int)value;
}

static void push_text(lua_State *L, struct bytes text) {
  lua_pushlstring(L, text.data ? (const char *)text.data : "", text.size);
}

/* plan:price(side, month, day, weekday, minute) -> price or nil, season, label, until */
static int l_price(lua_State *L) {
  const struct tariff *t = check_tariff(L, 1);
  enum tariff_side side = check_side(L, 2);
  int month = check_within(L, 3, 1, 12), day = check_within(L, 4, 1, 31);
  int weekday = check_within(L, 5, 0, 6), minute = check_within(L, 6, 0, 1439);
  struct tariff_price found;
  if (tariff_price(t, side, month, day, weekday, minute, &found))
    lua_pushnumber(L, found.price);
  else
    lua_pushnil(L);
  push_text(L, found.season);
  push_text(L, found.label);
  lua_pushinteger(L, found.until);
  return 4;
}

/* plan:json() -> the text of tariff_content_v2, every member written out, sorted */
static int l_json(lua_State *L) {
  struct buf *text = push_scratch(L);
  tariff_encode(check_tariff(L, 1), text);
  push_buf(L, text);
  return 1;
}

/* plan:content() -> the same as a table */
static int l_content(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 1);
  struct arena *a = push_arena(L);
  return push_answer(L, tariff_content(check_tariff(L, 1), a), 2, &e);
}

/* plan:equals(other) -> whether both mean the same */
static int l_equals(lua_State *L) {
  lua_pushboolean(L, tariff_equal(check_tariff(L, 1), check_tariff(L, 2)));
  return 1;
}

/* plan:normalised() -> plan, report: of the tariff that the service will keep */
static int l_normalised(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 1);
  struct arena *a = push_arena(L);
  struct plan_box *other = push_plan(L);
  struct tariff *t = keep_tariff(L, other, tariff_normalised(check_tariff(L, 1)));
  return 1 + push_answer(L, tariff_report(t, NULL, 0, a), 2, &e);
}

/* plan:at(when, zone or nil) -> { buy = { price, season, label }, sell = the same or nil } */
static int l_at(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 3);
  struct arena *a = push_arena(L);
  return push_answer(L, tariff_at(check_tariff(L, 1), value_at(L, 2, a), zone_at(L, 3), a, &e), 4, &e);
}

/* plan:segments(from, to, zone or nil) -> { { from, to, buy, sell }, ... } */
static int l_segments(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 4);
  struct arena *a = push_arena(L);
  const struct node *from = value_at(L, 2, a), *to = value_at(L, 3, a);
  return push_answer(L, tariff_segments(check_tariff(L, 1), from, to, zone_at(L, 4), a, &e), 5, &e);
}

/* plan:cheapest({ hours, from, to, contiguous }, zone or nil) -> { hours, mean, { from, to, price, season,
 * label }, ... } */
static int l_cheapest(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 3);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct arena *a = push_arena(L);
  return push_answer(L, tariff_cheapest(check_tariff(L, 1), value_at(L, 2, a), zone_at(L, 3), a, &e), 4, &e);
}

/* plan:weeks(side) -> the weeks of its seasons, as tariff_weeks gives them */
static int l_weeks(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 2);
  struct arena *a = push_arena(L);
  return push_answer(L, tariff_weeks(check_tariff(L, 1), check_side(L, 2), a), 3, &e);
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

/* ---- making one ---- */

/* core.tariff(table, any_currency, stored) -> plan, report; any_currency: an unknown one is a warning;
 * stored: so are unknown members */
static int l_tariff(lua_State *L) {
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  unsigned allowed = (lua_toboolean(L, 2) ? ALLOW_CURRENCY : 0) | (lua_toboolean(L, 3) ? ALLOW_UNKNOWN : 0);
  lua_settop(L, 1);
  struct arena *a = push_arena(L);
  const struct node *content = value_at(L, 1, a);
  struct tariff *t = push_new_plan(L);
  return 1 + push_answer(L, tariff_from_content(t, content, allowed, a), 2, &e);
}

/* core.tariff_flat(options) -> plan, report */
static int l_flat(lua_State *L) {
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct arena *a = push_arena(L);
  const struct node *options = value_at(L, 1, a);
  struct tariff *t = push_new_plan(L);
  return 1 + push_answer(L, tariff_from_flat(t, options, a, &e), 2, &e);
}

/* core.tariff_rows(options, zone or nil) -> plan, report, groups: how prices became labels; or nil, err, kind
 * for wrong prices of a feed */
static int l_rows(lua_State *L) {
  struct err e;
  struct node *groups;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  struct arena *a = push_arena(L);
  const struct node *options = value_at(L, 1, a);
  struct tariff *t = push_new_plan(L); /* options zone arena plan */
  const struct node *report = tariff_from_rows(t, options, zone_at(L, 2), a, &groups, &e);
  if (!report) {
    box_close(L, 4);
    return push_answer(L, NULL, 3, &e);
  }
  push_value(L, report);
  push_value(L, groups);
  box_close(L, 3);
  return 3;
}

/* core.tariff_kinds() -> list of { name =, sentence = }: the kinds of finding */
static int l_kinds(lua_State *L) {
  lua_newtable(L);
  for (const struct tariff_kind_row *row = tariff_kind_rows; row->name; row++) {
    lua_createtable(L, 0, 2);
    set_text(L, "name", row->name);
    set_text(L, "sentence", row->sentence);
    list_append(L, -2);
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
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
