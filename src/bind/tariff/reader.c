/* A tariff table, read once into the core's flat arrays. The members are rows: what they do not name is
 * refused.
 */
#include "bind/lua/json.h"
#include "bind/tariff/table_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct bytes text_at(lua_State *L, int index) {
  size_t size;
  const char *text = lua_tolstring(L, index, &size);
  return (struct bytes){(const unsigned char *)text, size};
}

static bool is_text(struct reader *r) {
  if (lua_type(r->L, -1) == LUA_TSTRING) return true;
  bad_value(r, "text");
  return false;
}

static void read_text(struct reader *r, const struct member *m) {
  if (is_text(r)) tariff_set_text(r->t, r->side, (enum tariff_text)m->low, text_at(r->L, -1));
}

static bool is_number(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER && isfinite(lua_tonumber(L, index));
}

static bool is_amount(struct reader *r) {
  if (is_number(r->L, -1)) return true;
  bad_value(r, "a number");
  return false;
}

static void read_number(struct reader *r, const struct member *m) {
  if (is_amount(r)) tariff_set_number(r->t, r->side, (enum tariff_number)m->low, lua_tonumber(r->L, -1));
}

/* Pushes the value without null members, which are absent. */
static void push_present(lua_State *L, int value) {
  if (!lua_istable(L, value)) {
    lua_pushvalue(L, value);
    return;
  }
  luaL_checkstack(L, 6, "the tariff is nested too deeply");
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, value)) { /* copy key value */
    if (!is_null(L, -1)) {
      push_present(L, lua_gettop(L));
      lua_pushvalue(L, -3);
      lua_insert(L, -2);
      lua_rawset(L, -5);
    }
    lua_pop(L, 1);
  }
}

/* (value) -> its JSON text; raises for what JSON cannot say */
static int l_object_text(lua_State *L) {
  push_present(L, 1);
  struct buf *text = push_scratch(L);
  json_encode(L, 2, text, "");
  push_buf(L, text);
  return 1;
}

/* Its members are not published: any JSON value is passed on. */
static void read_object(struct reader *r, const struct member *m) {
  lua_State *L = r->L;
  if (!is_table(r, "an object")) return;
  lua_pushcfunction(L, l_object_text);
  lua_pushvalue(L, -2);
  bool ok = lua_pcall(L, 1, 1, 0) == LUA_OK;
  if (ok) tariff_set_text(r->t, r->side, (enum tariff_text)m->low, text_at(L, -1));
  lua_pop(L, 1);
  if (!ok) bad_value(r, "an object of text, numbers, lists and objects");
}

/* ---- seasons ---- */

static void store(struct reader *r, const struct member *m, const struct member *rows) {
  int exact = 0;
  lua_Integer value = lua_type(r->L, -1) == LUA_TNUMBER ? lua_tointegerx(r->L, -1, &exact) : 0;
  if (exact && value >= m->low && value <= m->high) {
    r->slots[m - rows] = (int)value;
    r->given |= 1u << (m - rows);
    return;
  }
  char expected[64];
  snprintf(expected, sizeof expected, "a whole number from %d to %d", m->low, m->high);
  bad_value(r, expected);
  r->given |= 1u << 31;
}

static void clear_slots(struct reader *r) {
  memset(r->slots, 0, sizeof r->slots);
  r->given = 0;
}

static read_value read_period_slot, read_season_slot, read_nothing;
enum { FROM_DAY, TO_DAY, FROM_HOUR, FROM_MINUTE, TO_HOUR, TO_MINUTE };
static const struct member period_members[] = {MEMBER("fromDayOfWeek", read_period_slot, 0, 6),
                                               MEMBER("toDayOfWeek", read_period_slot, 0, 6),
                                               MEMBER("fromHour", read_period_slot, 0, 23),
                                               MEMBER("fromMinute", read_period_slot, 0, 59),
                                               MEMBER("toHour", read_period_slot, 0, 24),
                                               MEMBER("toMinute", read_period_slot, 0, 59),
                                               {0}};
enum { FROM_MONTH, FROM_DATE, TO_MONTH, TO_DATE };
static const struct member season_members[] = {
    MEMBER("fromMonth", read_season_slot, 0, 12), MEMBER("fromDay", read_season_slot, 0, 31),
    MEMBER("toMonth", read_season_slot, 0, 12),   MEMBER("toDay", read_season_slot, 0, 31),
    MEMBER("tou_periods", read_nothing, 0, 0),    {0}};

static void read_period_slot(struct reader *r, const struct member *m) {
  store(r, m, period_members);
}

static void read_season_slot(struct reader *r, const struct member *m) {
  store(r, m, season_members);
}

static void read_nothing(struct reader *r, const struct member *m) {
  (void)r, (void)m;
}

static bool was_bad(const struct reader *r) {
  return r->given >> 31;
}

/* Zero fields are dropped on read-back; what a missing toDayOfWeek means, the core decides. */
static void read_period(struct reader *r) {
  clear_slots(r);
  read_members(r, period_members);
  const int *s = r->slots;
  if (s[TO_HOUR] == 24 && s[TO_MINUTE] != 0) {
    lua_pushfstring(r->L, "24:%d", s[TO_MINUTE]);
    bad_value(r, "24:00 at the latest");
    lua_pop(r->L, 1);
    return;
  }
  if (was_bad(r)) return;
  int to_day = r->given & 1u << TO_DAY ? s[TO_DAY] : TARIFF_NO_DAY;
  struct tariff_period period = {s[FROM_DAY], to_day, s[FROM_HOUR] * 60 + s[FROM_MINUTE],
                                 s[TO_HOUR] * 60 + s[TO_MINUTE]};
  tariff_add_period(r->t, period);
}

static void read_periods(struct reader *r, const struct member *m) {
  (void)m;
  const char *label = r->path[r->depth - 2];
  if (lua_istable(r->L, -1)) {
    lua_pushnil(r->L);
    if (!lua_next(r->L, -2)) return; /* no periods: the label is not in use */
    lua_pop(r->L, 2);
    tariff_add_label(r->t, bytes_of(label));
  }
  r->label = label;
  read_list(r, "a list of periods", read_period);
  r->label = NULL;
}

static const struct member label_members[] = {MEMBER("periods", read_periods, 0, 0), {0}};

static void read_label(struct reader *r, const char *name) {
  (void)name;
  if (!is_table(r, "an object { periods = { ... } }")) return;
  if (lua_rawlen(r->L, -1))
    bad_value(r, "an object { periods = { ... } }; this is the form of the older tariff_content");
  else
    read_members(r, label_members);
}

/* A date of the season that is in use must be real; the problem names its day. */
static void check_date(struct reader *r, int month, int day) {
  if (tariff_real_date(r->slots[month], r->slots[day])) return;
  char value[16];
  snprintf(value, sizeof value, "%02d-%02d", r->slots[month], r->slots[day]);
  lua_pushstring(r->L, value);
  enter(r, season_members[day].name, 0);
  bad_value(r, "a day of the year, month and day");
  r->depth--;
  lua_pop(r->L, 1);
}

static void check_dates(struct reader *r, const char *name, bool has_periods) {
  bool dated = r->slots[FROM_MONTH] || r->slots[FROM_DATE] || r->slots[TO_MONTH] || r->slots[TO_DATE];
  if (was_bad(r) || (!dated && (!has_periods || strcmp(name, "ALL") == 0))) return;
  check_date(r, FROM_MONTH, FROM_DATE);
  check_date(r, TO_MONTH, TO_DATE);
}

/* fromMonth 0 without periods is a season not in use. */
static bool is_unused(const struct reader *r, bool has_periods) {
  return r->slots[FROM_MONTH] == 0 && !has_periods && !was_bad(r);
}

static bool push_labels(struct reader *r) {
  lua_pushstring(r->L, "tou_periods");
  lua_rawget(r->L, -2);
  if (is_null(r->L, -1) || lua_isnil(r->L, -1)) return false;
  if (!lua_istable(r->L, -1)) return true;
  lua_pushnil(r->L);
  if (!lua_next(r->L, -2)) return false;
  lua_pop(r->L, 2);
  return true;
}

static void add_season(struct reader *r, const char *name, bool has_periods) {
  if (is_unused(r, has_periods))
    clear_slots(r);
  else
    check_dates(r, name, has_periods);
  const int *s = r->slots;
  tariff_add_season(r->t, r->side, bytes_of(name),
                    (struct tariff_dates){s[FROM_MONTH], s[FROM_DATE], s[TO_MONTH], s[TO_DATE]});
}

static void read_season(struct reader *r, const char *name) {
  if (!is_table(r, "an object")) return;
  r->season = name;
  clear_slots(r);
  read_members(r, season_members);
  bool has_periods = push_labels(r); /* season labels */
  add_season(r, name, has_periods);
  enter(r, "tou_periods", 0);
  if (has_periods) read_map(r, read_label);
  r->depth--;
  lua_pop(r->L, 1);
  r->season = NULL;
}

static void read_seasons(struct reader *r, const struct member *m) {
  (void)m;
  read_map(r, read_season);
}

/* ---- charges ---- */

static void read_rate(struct reader *r, const char *label) {
  if (is_number(r->L, -1)) {
    tariff_add_rate(r->t, bytes_of(label), lua_tonumber(r->L, -1));
    return;
  }
  r->label = label;
  bad_value(r, "a price");
  r->label = NULL;
}

static void read_rates(struct reader *r, const struct member *m) {
  (void)m;
  read_map(r, read_rate);
}

static const struct member block_members[] = {MEMBER("rates", read_rates, 0, 0), {0}};

static void read_block(struct reader *r, enum tariff_charges charges, const char *season) {
  if (!is_table(r, "an object { rates = { ... } }")) return;
  tariff_add_rates(r->t, r->side, charges, bytes_of(season));
  r->season = season;
  read_members(r, block_members);
  r->season = NULL;
}

static void read_energy_block(struct reader *r, const char *season) {
  read_block(r, TARIFF_ENERGY, season);
}

static void read_demand_block(struct reader *r, const char *season) {
  read_block(r, TARIFF_DEMAND, season);
}

static void read_energy(struct reader *r, const struct member *m) {
  (void)m;
  read_map(r, read_energy_block);
}

static void read_demand(struct reader *r, const struct member *m) {
  (void)m;
  read_map(r, read_demand_block);
}

/* ---- the whole ---- */

static void read_charge_name(struct reader *r, const struct member *m) {
  (void)m;
  if (is_text(r)) r->charge_name = text_at(r->L, -1);
}

static void read_charge_amount(struct reader *r, const struct member *m) {
  (void)m;
  if (is_amount(r)) r->charge_amount = lua_tonumber(r->L, -1);
}

static const struct member charge_members[] = {
    MEMBER("name", read_charge_name, 0, 0), MEMBER("amount", read_charge_amount, 0, 0), {0}};

static void read_charge(struct reader *r) {
  r->charge_name = bytes_of("");
  r->charge_amount = 0;
  read_members(r, charge_members);
  tariff_add_charge(r->t, r->side, r->charge_name, r->charge_amount);
}

static void read_charge_list(struct reader *r, const struct member *m) {
  (void)m;
  read_list(r, "a list of { name =, amount = }", read_charge);
}

static read_value read_sell;
#define COMMON_MEMBERS                                                                                       \
  MEMBER("utility", read_text, TARIFF_UTILITY, 0), MEMBER("code", read_text, TARIFF_CODE, 0),                \
      MEMBER("name", read_text, TARIFF_NAME, 0), MEMBER("currency", read_text, TARIFF_CURRENCY, 0),          \
      MEMBER("monthly_minimum_bill", read_number, TARIFF_MONTHLY_MINIMUM, 0),                                \
      MEMBER("monthly_charges", read_number, TARIFF_MONTHLY, 0),                                             \
      MEMBER("min_applicable_demand", read_number, TARIFF_MIN_DEMAND, 0),                                    \
      MEMBER("max_applicable_demand", read_number, TARIFF_MAX_DEMAND, 0),                                    \
      MEMBER("daily_charges", read_charge_list, 0, 0),                                                       \
      MEMBER("daily_demand_charges", read_object, TARIFF_DAILY_DEMAND, 0),                                   \
      MEMBER("demand_charges", read_demand, 0, 0), MEMBER("energy_charges", read_energy, 0, 0),              \
      MEMBER("seasons", read_seasons, 0, 0)

static const struct member sell_members[] = {COMMON_MEMBERS, {0}};
static const struct member tariff_members[] = {MEMBER("version", read_number, TARIFF_VERSION, 0),
                                               COMMON_MEMBERS,
                                               MEMBER("sell_tariff", read_sell, 0, 0),
                                               {0}};

static void read_sell(struct reader *r, const struct member *m) {
  (void)m;
  if (!is_table(r, "an object")) return;
  r->side = TARIFF_SELL;
  read_members(r, sell_members);
  r->side = TARIFF_BUY;
}

/* The sell side carries an empty currency in the published example and is never asked. */
static void check_currency(struct reader *r) {
  static const char *const known[] = {"USD", "EUR", "GBP"};
  lua_State *L = r->L;
  lua_pushstring(L, "currency");
  lua_rawget(L, -2);
  const char *text = lua_type(L, -1) == LUA_TSTRING       ? lua_tostring(L, -1)
                     : lua_isnil(L, -1) || is_null(L, -1) ? ""
                                                          : NULL;
  bool fine = !text;
  for (size_t i = 0; text && i < sizeof known / sizeof *known; i++) fine |= strcmp(text, known[i]) == 0;
  lua_pop(L, 1);
  if (fine) return; /* a value that is no text was already reported */
  lua_createtable(L, 0, 2);
  set_text(L, "kind", "bad_currency");
  set_text(L, "value", text);
  lua_rawseti(L, r->problems, ++r->count);
}

/* ---- the older form ---- */

static bool is_plain_price(lua_State *L) {
  return lua_type(L, -1) == LUA_TNUMBER;
}

static bool is_bare_list(lua_State *L) {
  return lua_istable(L, -1) && lua_rawlen(L, -1) > 0;
}

static bool is_new_form(lua_State *L) {
  return lua_istable(L, -1) && lua_type(L, -2) == LUA_TSTRING &&
         (strcmp(lua_tostring(L, -2), "rates") == 0 || strcmp(lua_tostring(L, -2), "periods") == 0);
}

/* Counts the members of the table on top for which is holds; below: of the tables in it, so many levels down.
 */
static int count_members(lua_State *L, int below, bool is(lua_State *L)) {
  int count = 0;
  if (!lua_istable(L, -1)) return 0;
  luaL_checkstack(L, 4, "tariff");
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    count += below ? count_members(L, below - 1, is) : is(L);
  return count;
}

static int count_in(lua_State *L, const char *name, int below, bool is(lua_State *L)) {
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  int count = count_members(L, below, is);
  lua_pop(L, 1);
  return count;
}

bool is_older_tariff(lua_State *L) {
  return count_in(L, "energy_charges", 1, is_plain_price) && !count_in(L, "energy_charges", 1, is_new_form) &&
         (count_in(L, "seasons", 2, is_bare_list) || !count_in(L, "seasons", 3, is_new_form));
}

/* ---- what a builder adds, by the same rules ---- */

static void enter_side(struct reader *r, enum tariff_side side, const char *member, const char *season) {
  r->side = side, r->season = season, r->depth = 0;
  if (side == TARIFF_SELL) enter(r, "sell_tariff", 0);
  enter(r, member, 0);
  enter(r, season, 0);
}

static void leave_side(struct reader *r) {
  r->side = TARIFF_BUY, r->season = NULL, r->depth = 0;
}

void build_season(struct reader *r, enum tariff_side side, const char *name, const int dates[4],
                  bool has_periods) {
  enter_side(r, side, "seasons", name);
  clear_slots(r);
  for (int i = 0; i < 4; i++) {
    lua_pushinteger(r->L, dates[i]);
    enter(r, season_members[i].name, 0);
    read_season_slot(r, &season_members[i]);
    r->depth--;
    lua_pop(r->L, 1);
  }
  add_season(r, name, has_periods);
  leave_side(r);
}

void build_rate(struct reader *r, enum tariff_side side, const char *season, const char *label) {
  enter_side(r, side, "energy_charges", season);
  enter(r, "rates", 0);
  enter(r, label, 0);
  read_rate(r, label);
  leave_side(r);
}

lua_Integer read_tariff(lua_State *L, struct tariff *t, int problems) {
  struct reader r = {.L = L, .t = t, .problems = problems};
  check_currency(&r);
  read_members(&r, tariff_members);
  return r.count;
}

const char *tariff_date_member(int i) {
  return season_members[i].name;
}
