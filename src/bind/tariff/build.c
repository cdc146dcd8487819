#include "bind/tariff/rows.h"
#include "bind/tariff/table_reader.h"
#include "tariff/row_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the members beside the prices: options.head, a tariff without prices whose sell_tariff goes where
 * nothing is sold. */
static struct reader read_head(lua_State *L, struct tariff *t, int problems, bool sells) {
  struct reader r = {.L = L, .t = t, .problems = problems};
  lua_getfield(L, 1, "head");
  luaL_checktype(L, -1, LUA_TTABLE);
  if (!sells) lua_pushnil(L), lua_setfield(L, -2, "sell_tariff");
  r.count = read_tariff(L, t, problems);
  lua_pop(L, 1);
  return r;
}

/* ---- rates: what no season has costs nothing under ALL ---- */

static void add_rates_of(struct reader *r, enum tariff_side side, const char *season) {
  tariff_add_rates(r->t, side, TARIFF_DEMAND, bytes_of(season));
  tariff_add_rates(r->t, side, TARIFF_ENERGY, bytes_of(season));
}

static void add_all(struct reader *r, enum tariff_side side) {
  tariff_add_rates(r->t, side, TARIFF_DEMAND, bytes_of("ALL"));
  tariff_add_rate(r->t, bytes_of("ALL"), 0);
  tariff_add_rates(r->t, side, TARIFF_ENERGY, bytes_of("ALL"));
}

/* ---- one price ---- */

static const int whole_year[] = {1, 1, 12, 31};

/* The price on top of the stack stays. */
static void add_flat_side(struct reader *r, enum tariff_side side) {
  add_all(r, side);
  build_rate(r, side, "ALL", "ALL");
  build_season(r, side, "AllYear", whole_year, false);
  add_rates_of(r, side, "AllYear");
}

lua_Integer build_flat(lua_State *L, struct tariff *t, int problems, struct err *e) {
  (void)e;
  lua_getfield(L, 1, "sell"), lua_getfield(L, 1, "price");
  if (lua_type(L, -1) != LUA_TNUMBER) usage_error(L, "fleet.tariff.flat: 'price' must be a number");
  bool sells = lua_toboolean(L, -2);
  struct reader r = read_head(L, t, problems, sells);
  add_flat_side(&r, TARIFF_BUY);
  lua_pop(L, 1);
  if (sells) add_flat_side(&r, TARIFF_SELL);
  lua_pop(L, 1);
  lua_pushnil(L);
  return r.count;
}

/* ---- dates of a season ---- */

static void check_date(lua_State *L, const char *name, int *month, int *day) {
  size_t size;
  lua_getfield(L, -1, name);
  const char *text = luaL_tolstring(L, -1, &size);
  if (!parse_date((struct bytes){(const unsigned char *)text, size}, month, day))
    usage_error(L, FROM_ROWS "'%s' is '%s'; write month and day, 06-01", name, text);
  lua_pop(L, 2);
}

static void check_dates(lua_State *L, const char *name, int dates[4]) {
  memcpy(dates, whole_year, sizeof whole_year);
  lua_getfield(L, 1, "seasons");
  if (lua_toboolean(L, -1)) {
    if (!lua_istable(L, -1))
      usage_error(L, FROM_ROWS "'seasons' must be a table, got a %s", luaL_typename(L, -1));
    lua_getfield(L, -1, name);
    if (!lua_toboolean(L, -1))
      usage_error(L, FROM_ROWS "season '%s' stands in a row and not in 'seasons'", name);
    if (!lua_istable(L, -1))
      usage_error(L, FROM_ROWS "season '%s' must be { from = \"06-01\", to = \"09-30\" }", name);
    check_date(L, "from", &dates[0], &dates[1]);
    check_date(L, "to", &dates[2], &dates[3]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* ---- a season's week ---- */

static void check_order(lua_State *L, struct price_week *week, const char *season) {
  const struct stretch *late = sort_week(week);
  if (!late) return;
  char at[8];
  unsigned day = late->from / 1440, minute = late->from % 1440;
  snprintf(at, sizeof at, "%02u:%02u", minute / 60 % 24, minute % 60);
  usage_error(L, FROM_ROWS "two rows of season '%s' cover day %d (0 is Monday) at %s", season, (int)day, at);
}

static void check_labels(lua_State *L, const struct price_week *week) {
  struct label_clash clash;
  if (!find_clash(week, &clash)) luaL_error(L, "out of memory");
  if (!clash.one) return;
  char prices[64];
  snprintf(prices, sizeof prices, "%.14g and %.14g", clash.one->price, clash.other->price);
  usage_error(L, FROM_ROWS "label '%s' has two prices in one season, %s", (const char *)clash.one->base.data,
              prices);
}

static void push_group(lua_State *L, enum tariff_side side, struct bytes season,
                       const struct price_group *group) {
  lua_createtable(L, 0, 7);
  set_text(L, "side", side_name(side));
  set_bytes(L, "season", season);
  set_bytes(L, "label", group->label);
  set_number(L, "price", group->price), set_number(L, "low", group->low), set_number(L, "high", group->high);
  set_number(L, "minutes", group->minutes);
}

/* Appends to the list of groups on top of the stack. */
static void add_rates(struct reader *r, enum tariff_side side, struct bytes season,
                      const struct price_week *week) {
  lua_State *L = r->L;
  add_rates_of(r, side, (const char *)season.data);
  for (size_t i = 0; i < week->group_count; i++) {
    lua_pushnumber(L, week->groups[i].price);
    build_rate(r, side, (const char *)season.data, (const char *)week->groups[i].label.data);
    lua_pop(L, 1);
    push_group(L, side, season, &week->groups[i]);
    list_append(L, -2);
  }
}

static void add_season(struct reader *r, struct priced_season *season, enum tariff_side side, size_t most) {
  lua_State *L = r->L;
  int dates[4];
  struct price_week *week = &season->week[side];
  const char *name = (const char *)season->name.data;
  check_dates(L, name, dates);
  check_order(L, week, name);
  check_labels(L, week);
  if (!label_week(r->t, week, most)) luaL_error(L, "out of memory");
  bool flat = is_flat(week);
  build_season(r, side, name, dates, week->stretch_count && !flat);
  if (!flat && !write_periods(r->t, week->stretches, week->stretch_count)) luaL_error(L, "out of memory");
  add_rates(r, side, season->name, week);
}

/* ---- rows and lists ---- */

static void release_build(void *object) {
  struct build *build = object;
  for (size_t i = 0; i < build->season_count; i++)
    for (int side = 0; side < TARIFF_SIDES; side++) free_week(&build->seasons[i].week[side]);
  free(build->seasons);
}

static const struct box_type build_type = {"fleet.tariff_build", release_build, NULL, NULL};

void define_build(lua_State *L) {
  box_define(L, &build_type);
  lua_pop(L, 1);
}

static int by_name(const void *left, const void *right) {
  const struct priced_season *a = left, *b = right;
  return compare_names(a->name, b->name);
}

static bool has_prices(const struct build *build, enum tariff_side side) {
  for (size_t i = 0; i < build->season_count; i++)
    if (build->seasons[i].week[side].stretch_count) return true;
  return false;
}

static bool read_weeks(lua_State *L, struct build *build, struct err *e) {
  read_rows(L, build);
  read_prices(L, build, "prices", TARIFF_BUY);
  if (!read_spot(L, build, 2, e)) return false;
  read_prices(L, build, "sell_prices", TARIFF_SELL);
  if (!has_prices(build, TARIFF_BUY)) usage_error(L, FROM_ROWS "there is no price in it");
  qsort(build->seasons, build->season_count, sizeof *build->seasons, by_name);
  return true;
}

lua_Integer build_rows(lua_State *L, struct tariff *t, int problems, struct err *e) {
  lua_getfield(L, 1, "labels");
  double labels = luaL_optnumber(L, -1, TARIFF_WEEK);
  size_t most = labels < TARIFF_WEEK ? (size_t)labels : TARIFF_WEEK;
  lua_pop(L, 1);
  struct build *build = box_new(L, &build_type, sizeof *build, 0);
  int box = lua_gettop(L);
  build->t = t;
  box_open(L, box);
  if (!read_weeks(L, build, e)) {
    box_close(L, box);
    return -1;
  }
  bool sells = has_prices(build, TARIFF_SELL);
  struct reader r = read_head(L, t, problems, sells);
  lua_newtable(L);
  for (int side = 0; side < (sells ? TARIFF_SIDES : 1); side++) {
    add_all(&r, (enum tariff_side)side);
    tariff_add_rate(t, bytes_of("ALL"), 0);
    for (size_t i = 0; i < build->season_count; i++)
      if (build->seasons[i].given[side]) add_season(&r, &build->seasons[i], (enum tariff_side)side, most);
  }
  box_close(L, box);
  lua_remove(L, box);
  return r.count;
}
