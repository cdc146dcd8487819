/* A tariff table, read once into the core's flat arrays, and the answers back as tables.
 *
 * The members are rows: the reader refuses what they do not name, and core.tariff_members() gives them to the
 * Lua side, which writes bodies from them. Order: what the table itself gets wrong first, then what the core
 * found.
 */
#include "bind/bind.h"
#include "tariff/tariff.h"

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

static void set_text(lua_State *L, const char *field, const char *text) {
  if (!text) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, field);
}

static const char *side_name(enum tariff_side side) {
  return side == TARIFF_BUY ? "buy" : "sell";
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

/* A JSON null is absent (design 1.1). */
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

/* Zero fields are dropped on read-back (facts 6.2). A missing toDayOfWeek is read as 6, as the known
 * resolvers do, and told as a warning: it may have been a 0. */
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

/* Facts 6.2: fromMonth 0 without periods is a season not in use. */
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

/* Interface 2.6; the sell side carries an empty currency in the published example and is never asked. */
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

/* ---- the report ---- */

enum {
  ON_SIDE = 1,
  ON_CHARGES = 2,
  ON_SEASON = 4,
  ON_LABEL = 8,
  SPAN = 16,
  DATES = 32,
  LABELS = 64,
  SEASONS = 128,
  PRICE = 256,
  BECOMES = 512,
  PAIR = 1024,
  RANGES = 2048
};
enum { PROBLEMS, NORMALISATIONS, WARNINGS, LISTS };

static const struct {
  const char *name;
  int list;
  unsigned fields;
} kinds[] = {
    [TARIFF_SEASON_GAP] = {"season_gap", PROBLEMS, ON_SIDE | DATES},
    [TARIFF_SEASON_OVERLAP] = {"season_overlap", PROBLEMS, ON_SIDE | SEASONS | DATES},
    [TARIFF_PERIOD_GAP] = {"period_gap", PROBLEMS, ON_SIDE | ON_SEASON | SPAN},
    [TARIFF_PERIOD_OVERLAP] = {"period_overlap", PROBLEMS, ON_SIDE | ON_SEASON | LABELS | SPAN},
    [TARIFF_PRICE_WITHOUT_PERIOD] = {"price_without_period", PROBLEMS,
                                     ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL},
    [TARIFF_PERIOD_WITHOUT_PRICE] = {"period_without_price", PROBLEMS,
                                     ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL},
    [TARIFF_NEGATIVE_PRICE] = {"negative_price", NORMALISATIONS,
                               ON_SIDE | ON_CHARGES | ON_SEASON | ON_LABEL | PRICE | BECOMES},
    [TARIFF_BUY_BELOW_SELL] = {"buy_below_sell", NORMALISATIONS, PAIR},
    [TARIFF_LABELS_NOT_SHOWN] = {"labels_not_shown", WARNINGS, ON_SIDE | LABELS},
    [TARIFF_ALL_RECOMMENDED] = {"all_recommended", WARNINGS, ON_SIDE | PRICE},
    [TARIFF_DAY_RANGES] = {"day_ranges", WARNINGS, ON_SIDE | RANGES},
    [TARIFF_MISSING_TO_DAY] = {"missing_to_day_of_week", WARNINGS, ON_SIDE | ON_SEASON | ON_LABEL},
    [TARIFF_MISSING_CHARGES] = {"missing_charges", WARNINGS, ON_SIDE | ON_CHARGES},
    [TARIFF_LEAP_DAY] = {"leap_day", WARNINGS, ON_SIDE | ON_SEASON},
};

static const char *const day_names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static void set_bytes(lua_State *L, const char *field, struct bytes text) {
  lua_pushlstring(L, (const char *)text.data, text.size);
  lua_setfield(L, -2, field);
}

static void set_number(lua_State *L, const char *field, double value) {
  if (value == 0)
    lua_pushinteger(L, 0); /* a rounded price prints as 0 */
  else
    lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}

static void set_date(lua_State *L, const char *field, uint32_t day) {
  int month = 1, date = (int)day + 1;
  for (; !tariff_real_date(month, date); month++)
    for (int last = 31; last >= 29; last--)
      if (tariff_real_date(month, last)) {
        date -= last;
        break;
      }
  char text[32];
  snprintf(text, sizeof text, "%02d-%02d", month, date);
  set_text(L, field, text);
}

/* Never crosses midnight: the core tells day by day. */
static void push_span(lua_State *L, uint32_t from, uint32_t to) {
  uint32_t start = from % 1440, end = start + (to - from);
  char text[64];
  snprintf(text, sizeof text, "%s %02u:%02u-%02u:%02u", day_names[from / 1440 % 7], start / 60, start % 60,
           end / 60, end % 60);
  lua_pushstring(L, text);
}

static void set_names(lua_State *L, const char *field, const struct tariff_report *r,
                      const struct tariff_fault *f) {
  lua_createtable(L, (int)f->count, 0);
  for (size_t i = 0; i < f->count; i++) {
    lua_pushlstring(L, (const char *)r->names[f->first + i].data, r->names[f->first + i].size);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, field);
}

static void set_spans(lua_State *L, const struct tariff_report *r, const struct tariff_fault *f) {
  lua_createtable(L, (int)f->count, 0);
  for (size_t i = 0; i < f->count; i++) {
    push_span(L, r->spans[f->first + i].from, r->spans[f->first + i].to);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "spans");
}

static void set_ranges(lua_State *L, const struct tariff_report *r, const struct tariff_fault *f) {
  lua_createtable(L, (int)f->count, 0);
  for (size_t i = 0; i < f->count; i++) {
    const struct span *range = &r->spans[f->first + i];
    if (range->from == range->to)
      lua_pushstring(L, day_names[range->from]);
    else
      lua_pushfstring(L, "%s-%s", day_names[range->from], day_names[range->to]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "ranges");
}

static void set_pair(lua_State *L, const struct tariff_report *r, const struct tariff_fault *f) {
  set_bytes(L, "buy_season", f->season);
  set_bytes(L, "sell_season", f->other_season);
  set_bytes(L, "buy_label", f->label);
  set_bytes(L, "sell_label", f->other_label);
  set_number(L, "buy", f->price);
  set_number(L, "sell", f->other_price);
  set_number(L, "buy_becomes", f->becomes);
  set_spans(L, r, f);
}

static void set_span(lua_State *L, const struct tariff_fault *f) {
  push_span(L, f->from, f->to);
  lua_setfield(L, -2, "span");
  lua_pushinteger(L, (lua_Integer)(f->to - f->from));
  lua_setfield(L, -2, "minutes");
}

static void push_fault(lua_State *L, const struct tariff_report *r, const struct tariff_fault *f) {
  unsigned fields = kinds[f->kind].fields;
  lua_createtable(L, 0, 8);
  set_text(L, "kind", kinds[f->kind].name);
  if (fields & ON_SIDE) set_text(L, "side", side_name(f->side));
  if (fields & ON_CHARGES)
    set_text(L, "charges", f->charges == TARIFF_ENERGY ? "energy_charges" : "demand_charges");
  if (fields & ON_SEASON) set_bytes(L, "season", f->season);
  if (fields & ON_LABEL) set_bytes(L, "label", f->label);
  if (fields & LABELS) set_names(L, "labels", r, f);
  if (fields & SEASONS) set_names(L, "seasons", r, f);
  if (fields & SPAN) set_span(L, f);
  if (fields & DATES) set_date(L, "from", f->from), set_date(L, "to", f->to);
  if (fields & PRICE) set_number(L, "price", f->price);
  if (fields & BECOMES) set_number(L, "becomes", f->becomes);
  if (fields & PAIR) set_pair(L, r, f);
  if (fields & RANGES) set_ranges(L, r, f);
}

/* ---- the box ---- */

struct plan {
  struct tariff *tariff;
  struct tariff_report report;
};

static void release_plan(void *object) {
  struct plan *plan = object;
  tariff_report_free(&plan->report);
  tariff_free(plan->tariff);
}

static int side_option(lua_State *L, int index) {
  static const char *const sides[] = {"buy", "sell", NULL};
  return luaL_checkoption(L, index, NULL, sides);
}

static const luaL_Reg plan_methods[];
static const struct box_type plan_type;

static int checked_within(lua_State *L, int index, int low, int high) {
  lua_Integer value = luaL_checkinteger(L, index);
  luaL_argcheck(L, value >= low && value <= high, index, "out of range");
  return (int)value;
}

/* plan:price(side, month, day, weekday, minute) -> price or nil, season, label, until */
static int l_price(lua_State *L) {
  struct plan *plan = box_check(L, 1, &plan_type);
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

static void push_week_span(lua_State *L, const struct tariff *t, const struct span *span) {
  struct bytes name;
  double price[TARIFF_CHARGES];
  tariff_label(t, span->id, &name, price);
  lua_createtable(L, 0, 5);
  lua_pushinteger(L, span->from), lua_setfield(L, -2, "from");
  lua_pushinteger(L, span->to), lua_setfield(L, -2, "to");
  set_bytes(L, "label", name);
  lua_pushnumber(L, price[TARIFF_ENERGY]), lua_setfield(L, -2, "price");
  lua_pushnumber(L, price[TARIFF_DEMAND]), lua_setfield(L, -2, "demand");
}

static void push_week(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  const int dates[] = {week->dates.from_month, week->dates.from_day, week->dates.to_month,
                       week->dates.to_day};
  lua_createtable(L, (int)week->count, 5);
  set_bytes(L, "name", week->name);
  for (int i = 0; i < 4; i++) lua_pushinteger(L, dates[i]), lua_setfield(L, -2, season_members[i].name);
  for (size_t i = 0; i < week->count; i++) {
    push_week_span(L, t, &week->spans[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* plan:weeks(side) -> { { name, fromMonth..., { from, to, label, price, demand }, ... }, ... } by first day
 */
static int l_weeks(lua_State *L) {
  struct plan *plan = box_check(L, 1, &plan_type);
  enum tariff_side side = (enum tariff_side)side_option(L, 2);
  struct tariff_week week;
  lua_newtable(L);
  for (size_t i = 0; tariff_week(plan->tariff, side, i, &week); i++) {
    push_week(L, plan->tariff, &week);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg plan_methods[] = {{"price", l_price}, {"weeks", l_weeks}, {NULL, NULL}};
static const struct box_type plan_type = {"fleet.tariff_plan", release_plan, plan_methods, NULL};

static void push_report(lua_State *L, const struct tariff_report *report, struct reader *r) {
  static const char *const lists[LISTS] = {"problems", "normalisations", "warnings"};
  lua_Integer counts[LISTS] = {r->count, 0, 0};
  int at[LISTS] = {r->problems, r->problems + 1, r->problems + 2};
  lua_newtable(L), lua_newtable(L);
  for (size_t i = 0; i < report->fault_count; i++) {
    int list = kinds[report->faults[i].kind].list;
    push_fault(L, report, &report->faults[i]);
    lua_rawseti(L, at[list], ++counts[list]);
  }
  lua_createtable(L, 0, 4);
  lua_pushboolean(L, counts[PROBLEMS] == 0), lua_setfield(L, -2, "valid");
  for (int i = 0; i < LISTS; i++) lua_pushvalue(L, at[i]), lua_setfield(L, -2, lists[i]);
}

/* core.tariff(table) -> plan, report, how many of its problems come from reading the table (their order is
 * accidental) */
static int l_tariff(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkstack(L, 60, NULL);
  lua_settop(L, 1);
  struct plan *plan = box_new(L, &plan_type, sizeof *plan, 0);
  box_open(L, 2);
  lua_newtable(L); /* table plan problems */
  struct reader r = {.L = L, .t = plan->tariff = tariff_new(), .problems = 3};
  if (!r.t) return luaL_error(L, "out of memory");
  lua_pushvalue(L, 1);
  check_currency(&r);
  read_members(&r, tariff_members);
  lua_pop(L, 1);
  if (!tariff_check(r.t, &plan->report, NULL)) return luaL_error(L, "out of memory");
  push_report(L, &plan->report, &r);
  tariff_report_free(&plan->report);
  lua_pushvalue(L, 2);
  lua_insert(L, -2);
  lua_pushinteger(L, r.count);
  return 3;
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

/* core.tariff_members() -> { tariff = { { name, shape }, ... }, sell =, season =, label =, period =, block =,
 * charge = } */
static int l_tariff_members(lua_State *L) {
  lua_newtable(L);
  set_rows(L, "tariff", tariff_members);
  set_rows(L, "sell", sell_members);
  set_rows(L, "season", season_members);
  set_rows(L, "label", label_members);
  set_rows(L, "period", period_members);
  set_rows(L, "block", block_members);
  set_rows(L, "charge", charge_members);
  return 1;
}

void open_tariffs(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"tariff", l_tariff}, {"tariff_members", l_tariff_members}, {NULL, NULL}};
  box_define(L, &plan_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
