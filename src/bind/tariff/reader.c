/* A tariff table, read once into the core's flat arrays.
 *
 * The members are rows: the reader refuses what they do not name, and core.tariff_members() gives them to the
 * Lua side, which writes bodies from them.
 */
#include "bind/tariff/tariffs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

struct reader;
struct member;
typedef void read_value(struct reader *r,
                        const struct member *m); /* the value is on top of the stack and stays */

struct member {
  const char *name;
  size_t size;
  const char *shape; /* what the writer makes of it, see lua/fleet/tariff/explicit.lua */
  read_value *read;
  int low, high;
};
#define MEMBER(name, shape, ...)                                                                             \
  { name, sizeof name - 1, shape, __VA_ARGS__ }

enum { DEEPEST = 12, MOST_SLOTS = 6 };

struct reader {
  lua_State *L;
  struct tariff *t;
  int problems; /* stack index of the list */
  lua_Integer count;
  enum tariff_side side;
  const char *season, *label; /* where the reader is, or NULL */
  const char *path[DEEPEST];  /* NULL: the integer beside it */
  lua_Integer index[DEEPEST];
  int depth;
  int slots[MOST_SLOTS]; /* whole numbers of the season or period being read, by place in its rows */
  unsigned given;        /* bit per slot */
};

static void enter(struct reader *r, const char *name, lua_Integer index) {
  r->path[r->depth] = name;
  r->index[r->depth++] = index;
}

/* ---- what the table itself gets wrong ---- */

static void push_path(struct reader *r) {
  luaL_Buffer b;
  luaL_buffinit(r->L, &b);
  for (int i = 0; i < r->depth; i++) {
    char number[32];
    snprintf(number, sizeof number, "[%lld]", (long long)r->index[i]);
    if (i > 0 && r->path[i]) luaL_addchar(&b, '.');
    luaL_addstring(&b, r->path[i] ? r->path[i] : number);
  }
  luaL_pushresult(&b);
}

/* Leaves the new problem on the stack, already in the list. */
static void push_problem(struct reader *r, const char *kind) {
  lua_createtable(r->L, 0, 8);
  lua_pushvalue(r->L, -1);
  lua_rawseti(r->L, r->problems, ++r->count);
  set_text(r->L, "kind", kind);
  set_text(r->L, "side", side_name(r->side));
  set_text(r->L, "season", r->season);
  set_text(r->L, "label", r->label);
  push_path(r);
  lua_setfield(r->L, -2, "path");
}

static void bad_value(struct reader *r, const char *expected) {
  lua_State *L = r->L;
  int value = lua_absindex(L, -1), type = lua_type(L, value);
  push_problem(r, "bad_value");
  if (type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN)
    lua_pushvalue(L, value);
  else
    lua_pushfstring(L, "a %s", luaL_typename(L, value));
  if (type == LUA_TNUMBER && !isfinite(lua_tonumber(L, -1)))
    lua_pop(L, 1), lua_pushfstring(L, "%f", lua_tonumber(L, value));
  lua_setfield(L, -2, "value");
  set_text(L, "expected", expected);
  lua_pop(L, 1);
}

/* The name's bytes may be anything a caller wrote: only text is told as the key. */
static void unknown_key(struct reader *r, int key, const struct member *rows) {
  lua_State *L = r->L;
  const char *names[24];
  size_t count = 0;
  for (const struct member *m = rows; m && m->name; m++) names[count++] = m->name;
  const char *text = lua_type(L, key) == LUA_TSTRING ? lua_tostring(L, key) : NULL;
  push_problem(r, "unknown_key");
  luaL_tolstring(L, key, NULL);
  lua_setfield(L, -2, "key");
  if (text) set_text(L, "nearest", nearest(text, names, count));
  lua_pop(L, 1);
}

/* ---- engines ---- */

/* A JSON null is absent. */
static bool is_null(lua_State *L, int index) {
  return lua_islightuserdata(L, index) && !lua_touserdata(L, index);
}

static const struct member *find_member(lua_State *L, int key, const struct member *rows) {
  size_t size;
  if (lua_type(L, key) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, key, &size);
  for (const struct member *m = rows; m->name; m++)
    if (m->size == size && memcmp(m->name, name, size) == 0) return m;
  return NULL;
}

static bool is_table(struct reader *r, const char *expected) {
  if (lua_istable(r->L, -1)) return true;
  bad_value(r, expected);
  return false;
}

/* Reads every member of the object on top by its row. */
static void read_members(struct reader *r, const struct member *rows) {
  lua_State *L = r->L;
  lua_pushnil(L);
  while (lua_next(L, -2)) { /* key value */
    const struct member *m = find_member(L, -2, rows);
    if (!m) {
      unknown_key(r, lua_absindex(L, -2), rows);
    } else if (!is_null(L, -1)) {
      enter(r, m->name, 0);
      m->read(r, m);
      r->depth--;
    }
    lua_pop(L, 1);
  }
}

/* The text of the key below the value on top; NULL for what cannot be a name: a number, or text that holds a
 * NUL. */
static const char *map_key(lua_State *L) {
  size_t size;
  if (lua_type(L, -2) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, -2, &size);
  return strlen(name) == size ? name : NULL;
}

/* Calls each for every named entry of the map on top, key below value. */
static void read_map(struct reader *r, void (*each)(struct reader *, const char *name)) {
  lua_State *L = r->L;
  if (!is_table(r, "an object")) return;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const char *name = map_key(L);
    if (!name) {
      unknown_key(r, lua_absindex(L, -2), NULL);
    } else if (!is_null(L, -1)) {
      enter(r, name, 0);
      each(r, name);
      r->depth--;
    }
    lua_pop(L, 1);
  }
}

static void read_list(struct reader *r, const char *expected, void (*each)(struct reader *)) {
  lua_State *L = r->L;
  if (!is_table(r, expected)) return;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_isinteger(L, -2)) {
      enter(r, NULL, lua_tointeger(L, -2));
      if (is_table(r, "an object")) each(r);
      r->depth--;
    } else {
      bad_value(r, expected);
    }
    lua_pop(L, 1);
  }
}

static void read_text(struct reader *r, const struct member *m) {
  (void)m;
  if (lua_type(r->L, -1) != LUA_TSTRING) bad_value(r, "text");
}

static bool is_number(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER && isfinite(lua_tonumber(L, index));
}

static void read_number(struct reader *r, const struct member *m) {
  (void)m;
  if (!is_number(r->L, -1)) bad_value(r, "a number");
}

static void read_object(struct reader *r, const struct member *m) {
  (void)m;
  is_table(r, "an object");
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
static const struct member period_members[] = {MEMBER("fromDayOfWeek", "whole", read_period_slot, 0, 6),
                                               MEMBER("toDayOfWeek", "whole", read_period_slot, 0, 6),
                                               MEMBER("fromHour", "whole", read_period_slot, 0, 23),
                                               MEMBER("fromMinute", "whole", read_period_slot, 0, 59),
                                               MEMBER("toHour", "whole", read_period_slot, 0, 24),
                                               MEMBER("toMinute", "whole", read_period_slot, 0, 59),
                                               {0}};
enum { FROM_MONTH, FROM_DATE, TO_MONTH, TO_DATE };
static const struct member season_members[] = {MEMBER("fromMonth", "whole", read_season_slot, 0, 12),
                                               MEMBER("fromDay", "whole", read_season_slot, 0, 31),
                                               MEMBER("toMonth", "whole", read_season_slot, 0, 12),
                                               MEMBER("toDay", "whole", read_season_slot, 0, 31),
                                               MEMBER("tou_periods", "labels", read_nothing, 0, 0),
                                               {0}};

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

/* Zero fields are dropped on read-back (doc/protocol.md#tariff-meaning). A missing toDayOfWeek is read as 6,
 * as the known resolvers do, and told as a warning: it may have been a 0. */
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
  bool missing = !(r->given & 1u << TO_DAY);
  tariff_add_period(r->t, s[FROM_DAY], missing ? 6 : s[TO_DAY], s[FROM_HOUR] * 60 + s[FROM_MINUTE],
                    s[TO_HOUR] * 60 + s[TO_MINUTE], missing);
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

static const struct member label_members[] = {MEMBER("periods", "periods", read_periods, 0, 0), {0}};

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

/* doc/protocol.md#tariff-meaning: fromMonth 0 without periods is a season not in use. */
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

static void read_season(struct reader *r, const char *name) {
  if (!is_table(r, "an object")) return;
  r->season = name;
  clear_slots(r);
  read_members(r, season_members);
  bool has_periods = push_labels(r); /* season labels */
  if (is_unused(r, has_periods))
    clear_slots(r);
  else
    check_dates(r, name, has_periods);
  const int *s = r->slots;
  tariff_add_season(r->t, r->side, bytes_of(name),
                    (struct tariff_dates){s[FROM_MONTH], s[FROM_DATE], s[TO_MONTH], s[TO_DATE]});
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

static const struct member block_members[] = {MEMBER("rates", "prices", read_rates, 0, 0), {0}};

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

static const struct member charge_members[] = {
    MEMBER("name", "text", read_text, 0, 0), MEMBER("amount", "number", read_number, 0, 0), {0}};

static void read_charge(struct reader *r) {
  read_members(r, charge_members);
}

static void read_charge_list(struct reader *r, const struct member *m) {
  (void)m;
  read_list(r, "a list of { name =, amount = }", read_charge);
}

static read_value read_sell;
/* In the order in which they are written. */
#define COMMON_MEMBERS                                                                                       \
  MEMBER("utility", "text", read_text, 0, 0), MEMBER("code", "text", read_text, 0, 0),                       \
      MEMBER("name", "text", read_text, 0, 0), MEMBER("currency", "text", read_text, 0, 0),                  \
      MEMBER("monthly_minimum_bill", "number", read_number, 0, 0),                                           \
      MEMBER("monthly_charges", "number", read_number, 0, 0),                                                \
      MEMBER("min_applicable_demand", "number", read_number, 0, 0),                                          \
      MEMBER("max_applicable_demand", "number", read_number, 0, 0),                                          \
      MEMBER("daily_charges", "charges", read_charge_list, 0, 0),                                            \
      MEMBER("daily_demand_charges", "object", read_object, 0, 0),                                           \
      MEMBER("demand_charges", "blocks", read_demand, 0, 0),                                                 \
      MEMBER("energy_charges", "blocks", read_energy, 0, 0),                                                 \
      MEMBER("seasons", "seasons", read_seasons, 0, 0)

static const struct member sell_members[] = {COMMON_MEMBERS, {0}};
static const struct member tariff_members[] = {MEMBER("version", "number", read_number, 0, 0),
                                               COMMON_MEMBERS,
                                               MEMBER("sell_tariff", "sell", read_sell, 0, 0),
                                               {0}};

static void read_sell(struct reader *r, const struct member *m) {
  (void)m;
  if (!is_table(r, "an object")) return;
  r->side = TARIFF_SELL;
  read_members(r, sell_members);
  r->side = TARIFF_BUY;
}

/* doc/protocol.md#tariff-meaning; the sell side carries an empty currency in the published example and is
 * never asked. */
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
  if (fine) return; /* what is no text has been told as a bad value */
  lua_createtable(L, 0, 2);
  set_text(L, "kind", "bad_currency");
  set_text(L, "value", text);
  lua_rawseti(L, r->problems, ++r->count);
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

/* ---- for the writer ---- */

static void set_rows(lua_State *L, const char *name, const struct member *rows) {
  lua_newtable(L);
  for (lua_Integer i = 0; rows[i].name; i++) {
    lua_createtable(L, 0, 2);
    set_text(L, "name", rows[i].name);
    set_text(L, "shape", rows[i].shape);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

/* { tariff = { { name, shape }, ... }, sell =, season =, label =, period =, block =,
 * charge = } */
void push_tariff_members(lua_State *L) {
  lua_newtable(L);
  set_rows(L, "tariff", tariff_members);
  set_rows(L, "sell", sell_members);
  set_rows(L, "season", season_members);
  set_rows(L, "label", label_members);
  set_rows(L, "period", period_members);
  set_rows(L, "block", block_members);
  set_rows(L, "charge", charge_members);
}
