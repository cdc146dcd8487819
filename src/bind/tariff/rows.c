#include "bind/tariff/rows.h"

#include "bind/time/zone.h"
#include "tariff/row_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- seasons ---- */

const char *check_name(lua_State *L, const char *what) {
  size_t size = 0;
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!name || strlen(name) != size)
    usage_error(L, FROM_ROWS "%s must be text without zero bytes, got a %s", what, luaL_typename(L, -1));
  return name;
}

/* Kept with its NUL, which does not count. */
static struct bytes keep(lua_State *L, struct build *build, const char *name) {
  struct bytes kept = copy_text(build->t, (struct bytes){(const unsigned char *)name, strlen(name) + 1});
  if (!kept.data) luaL_error(L, "out of memory");
  return (struct bytes){kept.data, kept.size - 1};
}

static struct priced_season *find_season(lua_State *L, struct build *build, const char *name) {
  for (size_t i = 0; i < build->season_count; i++)
    if (is_named(build->seasons[i].name, name)) return &build->seasons[i];
  struct bytes kept = keep(L, build, name);
  struct priced_season *season = ADD(build, seasons, season);
  if (!season) luaL_error(L, "out of memory");
  season->name = kept;
  return season;
}

/* That of the option 'seasons', or the whole year. */
static struct priced_season *only_season(lua_State *L, struct build *build) {
  int top = lua_gettop(L);
  const char *name = "AllYear";
  lua_getfield(L, 1, "seasons");
  if (lua_istable(L, -1)) {
    lua_pushnil(L);
    if (lua_next(L, -2)) { /* seasons name value */
      lua_pop(L, 1);
      name = check_name(L, "the name of a season");
      lua_pushvalue(L, -1);
      if (lua_next(L, top + 1))
        usage_error(L, FROM_ROWS "spot prices are for one season; use 'rows' for more");
    }
  }
  struct priced_season *season = find_season(L, build, name);
  lua_settop(L, top);
  return season;
}

/* ---- rows ---- */

static const char *const row_members[] = {"days", "from", "label", "price", "season", "sell", "to"};

static void check_members(lua_State *L, int row, int number) {
  for (lua_pushnil(L); lua_next(L, row); lua_pop(L, 1)) {
    bool known = false;
    for (size_t i = 0; i < sizeof row_members / sizeof *row_members; i++)
      known |= lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), row_members[i]) == 0;
    if (known) continue;
    struct buf *sentence = push_scratch(L);
    unknown_sentence(sentence, "member", luaL_tolstring(L, -3, NULL), row_members,
                     sizeof row_members / sizeof *row_members);
    usage_error(L, FROM_ROWS "row %d: %s", number, buf_text(sentence));
  }
}

static bool is_price(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER && !isnan(lua_tonumber(L, index));
}

/* Text of the member of the row, or a default for nil and false; stays on the stack. */
static struct bytes push_member(lua_State *L, int row, const char *name, const char *fallback) {
  size_t size;
  lua_getfield(L, row, name);
  if (!lua_toboolean(L, -1)) lua_pop(L, 1), lua_pushstring(L, fallback);
  const char *text = luaL_tolstring(L, -1, &size);
  return (struct bytes){(const unsigned char *)text, size};
}

static int check_clock(lua_State *L, int row, const char *name) {
  int minute;
  struct bytes text = push_member(L, row, name, "00:00");
  if (!parse_clock(text, &minute))
    usage_error(L, FROM_ROWS "'%s' is '%s'; write hours and minutes, 16:30", name, (const char *)text.data);
  lua_pop(L, 2);
  return minute;
}

/* A list of days as one text. */
static void join_list(lua_State *L, int list) {
  struct buf *text = push_scratch(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, list);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, list, i);
    buf_text_add(text, luaL_tolstring(L, -1, NULL));
    buf_put(text, ',');
    lua_pop(L, 2);
  }
  push_buf(L, text);
}

static unsigned check_days(lua_State *L, int row) {
  unsigned days;
  size_t size;
  struct bytes wrong;
  int top = lua_gettop(L);
  lua_getfield(L, row, "days");
  if (lua_isnil(L, -1)) lua_pushliteral(L, "mon-sun");
  if (lua_istable(L, -1)) join_list(L, top + 1);
  const char *text = luaL_tolstring(L, -1, &size);
  if (!parse_days((struct bytes){(const unsigned char *)text, size}, &days, &wrong)) {
    lua_pushlstring(L, (const char *)wrong.data, wrong.size);
    usage_error(L, FROM_ROWS "'%s' is no day; write mon, tue, wed, thu, fri, sat or sun",
                lua_tostring(L, -1));
  }
  lua_settop(L, top);
  return days;
}

static struct priced_season *row_season(lua_State *L, struct build *build, int row, int number) {
  char what[48];
  snprintf(what, sizeof what, "row %d: 'season'", number);
  lua_getfield(L, row, "season");
  const char *name = lua_toboolean(L, -1) ? check_name(L, what) : "AllYear";
  struct priced_season *season = find_season(L, build, name);
  lua_pop(L, 1);
  season->given[TARIFF_BUY] = season->given[TARIFF_SELL] = true;
  return season;
}

static struct bytes row_label(lua_State *L, struct build *build, int row, int number) {
  char what[48];
  struct bytes label = {NULL, 0};
  snprintf(what, sizeof what, "row %d: 'label'", number);
  lua_getfield(L, row, "label");
  if (lua_toboolean(L, -1)) label = keep(L, build, check_name(L, what));
  lua_pop(L, 1);
  return label;
}

static void check_row(lua_State *L, int row, int number) {
  if (!lua_istable(L, row))
    usage_error(L, FROM_ROWS "row %d is a %s, not a table", number, luaL_typename(L, row));
  check_members(L, row, number);
  lua_getfield(L, row, "price"), lua_getfield(L, row, "sell");
  if (lua_isnil(L, -2)) usage_error(L, FROM_ROWS "row %d has no 'price'", number);
  if (!is_price(L, -2))
    usage_error(L, FROM_ROWS "row %d: 'price' must be a number, got a %s", number, luaL_typename(L, -2));
  if (!lua_isnil(L, -1) && !is_price(L, -1))
    usage_error(L, FROM_ROWS "row %d: 'sell' must be a number, got a %s", number, luaL_typename(L, -1));
}

static void read_row(lua_State *L, struct build *build, int number) {
  int row = lua_gettop(L);
  check_row(L, row, number); /* row price sell */
  struct priced_season *season = row_season(L, build, row, number);
  int from = check_clock(L, row, "from"), to = check_clock(L, row, "to");
  unsigned days = check_days(L, row);
  struct bytes label = row_label(L, build, row, number);
  bool fits = add_row(&season->week[TARIFF_BUY], days, from, to, lua_tonumber(L, row + 1), label);
  if (fits && !lua_isnil(L, row + 2))
    fits = add_row(&season->week[TARIFF_SELL], days, from, to, lua_tonumber(L, row + 2),
                   (struct bytes){NULL, 0});
  if (!fits) luaL_error(L, "out of memory");
  lua_settop(L, row);
}

/* Pushes the option, a list; false: it was not given. */
static bool push_list(lua_State *L, const char *option) {
  lua_getfield(L, 1, option);
  if (!lua_toboolean(L, -1)) return false;
  if (!lua_istable(L, -1))
    usage_error(L, FROM_ROWS "'%s' must be a list, got a %s", option, luaL_typename(L, -1));
  return true;
}

void read_rows(lua_State *L, struct build *build) {
  int top = lua_gettop(L);
  bool given = push_list(L, "rows");
  for (int i = 1; given && (lua_geti(L, top + 1, i), !lua_isnil(L, -1)); i++, lua_settop(L, top + 1))
    read_row(L, build, i);
  lua_settop(L, top);
}

/* ---- lists of prices ---- */

static uint32_t check_step(lua_State *L, size_t count) {
  lua_getfield(L, 1, "step");
  double given = lua_toboolean(L, -1) ? lua_tonumber(L, -1) : NAN;
  uint32_t step = price_step(count, lua_toboolean(L, -1) && isnan(given) ? 0 : given);
  if (!step)
    usage_error(L,
                FROM_ROWS "%d prices cover neither a day nor a week; give 'step' in minutes, or all prices",
                (int)count);
  lua_pop(L, 1);
  return step;
}

void read_prices(lua_State *L, struct build *build, const char *option, enum tariff_side side) {
  int top = lua_gettop(L);
  if (push_list(L, option)) {
    struct priced_season *season = only_season(L, build);
    size_t count = (size_t)lua_rawlen(L, top + 1);
    uint32_t step = check_step(L, count);
    double *prices = lua_newuserdatauv(L, count * sizeof *prices, 0);
    for (size_t i = 0; i < count; i++) {
      lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
      if (!is_price(L, -1)) usage_error(L, FROM_ROWS "price %d is not a number", (int)i + 1);
      prices[i] = lua_tonumber(L, -1);
      lua_pop(L, 1);
    }
    free_week(&season->week[side]);
    season->given[side] = true;
    if (!add_prices(&season->week[side], prices, count, step)) luaL_error(L, "out of memory");
  }
  lua_settop(L, top);
}

/* ---- spot prices: data of a feed, so that what is wrong with them is an error and raises nothing ---- */

/* A member of the table on top; fallback where it is absent, NAN where it is no number. */
static double number_of(lua_State *L, const char *name, double fallback) {
  int type = lua_getfield(L, -1, name);
  double value = type == LUA_TNUMBER ? lua_tonumber(L, -1) : type == LUA_TNIL ? fallback : NAN;
  lua_pop(L, 1);
  return value;
}

/* The entry on top. Starts are rounded to the minute: feeds give seconds beside it. */
static bool read_spot_price(lua_State *L, struct spot_price *out, int number, struct err *e) {
  bool is_table = lua_istable(L, -1), sells = is_table && lua_getfield(L, -1, "sell") != LUA_TNIL;
  if (is_table) lua_pop(L, 1);
  double start = is_table ? floor(number_of(L, "start", NAN) / 60 + 0.5) * 60 : NAN,
         price = is_table ? number_of(L, "price", NAN) : NAN, sell = sells ? number_of(L, "sell", NAN) : NAN,
         minutes = is_table ? floor(number_of(L, "minutes", 0) + 0.5) : 0;
  if (!isfinite(price) || (sells && !isfinite(sell)) || !(minutes >= 0 && minutes <= TARIFF_WEEK) ||
      !(start >= (double)CIVIL_MIN && start + minutes * 60 <= (double)CIVIL_MAX - TARIFF_WEEK * 60.0))
    return err_set(
        e, KIND_invalid,
        "spot price %d must be { start = UTC seconds, price = number }; 'sell' and 'minutes' are numbers, "
        "too",
        number);
  int64_t first = (int64_t)start;
  *out = (struct spot_price){first, minutes > 0 ? first + (int64_t)minutes * 60 : 0, price, sell,
                             (size_t)number};
  return true;
}

/* Pushes what holds the prices of the list; NULL with an error. */
static struct spot_price *push_spot(lua_State *L, int list, size_t count, struct err *e) {
  struct spot_price *spot = lua_newuserdatauv(L, (count + 1) * sizeof *spot, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    if (!read_spot_price(L, &spot[i], (int)i + 1, e)) return NULL;
    lua_pop(L, 1);
  }
  return spot;
}

/* The option 'from' in whole minutes; false: it was not given. */
static bool check_from(lua_State *L, bool has_spot, int64_t *from) {
  int type = lua_getfield(L, 1, "from");
  double given = type == LUA_TNUMBER ? floor(lua_tonumber(L, -1) / 60) * 60 : NAN;
  lua_pop(L, 1);
  if (type == LUA_TNIL) return false;
  if (!has_spot) usage_error(L, FROM_ROWS "'from' goes with 'spot'");
  if (!(given >= (double)CIVIL_MIN && given <= (double)CIVIL_MAX - TARIFF_WEEK * 60.0))
    usage_error(L, FROM_ROWS "'from' must be UTC seconds");
  *from = (int64_t)given;
  return true;
}

bool read_spot(lua_State *L, struct build *build, int zone, struct err *e) {
  int top = lua_gettop(L);
  int64_t from = 0;
  bool given = push_list(L, "spot"), is_from = check_from(L, given, &from), ok = true;
  if (given) {
    struct priced_season *season = only_season(L, build);
    if (lua_isnoneornil(L, zone)) usage_error(L, FROM_ROWS "'spot' needs 'time_zone', the zone of the site");
    size_t count = (size_t)lua_rawlen(L, top + 1);
    struct spot_price *spot = push_spot(L, top + 1, count, e);
    ok = spot && add_spot(season->week, spot, count, is_from ? &from : NULL, check_zone(L, zone), e);
    season->given[TARIFF_BUY] = true;
    season->given[TARIFF_SELL] = ok && season->week[TARIFF_SELL].stretch_count;
    lua_getfield(L, 1, "sell_prices");
    if (season->given[TARIFF_SELL] && lua_toboolean(L, -1))
      usage_error(L, FROM_ROWS "give sell prices either in 'spot' or in 'sell_prices'");
  }
  lua_settop(L, top);
  return ok;
}
