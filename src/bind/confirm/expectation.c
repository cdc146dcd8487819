/* What a read must show when a write was done, as the settle column of its row says; see "Settling" in
 * tables/rows.h. Rows, parameters and read data in, yes or no out.
 */
#include "bind/lua/bind.h"

#include "base/settle.h"
#include "bind/call/param_values.h"

#include <math.h>
#include <string.h>

enum {
  ROW = 1,
  DATA = 2,
  PARAMS = 3,
  SAME = 4,
  SLOTS = 32
}; /* places on the stack; DATA is nil where none is read */

struct look {
  lua_State *L;
  const struct row *row;
};

static struct bytes column_of(const struct look *k) {
  return bytes_of(k->row->settle);
}

/* Pushes the member of the table, or nil. */
static void push_member(lua_State *L, int table, struct bytes name) {
  table = lua_absindex(L, table);
  lua_pushlstring(L, (const char *)name.data, name.size);
  if (lua_istable(L, table))
    lua_gettable(L, table);
  else
    lua_pop(L, 1), lua_pushnil(L);
}

static bool is_given(const struct look *k, struct bytes name) {
  push_member(k->L, PARAMS, name);
  bool given = !lua_isnil(k->L, -1);
  lua_pop(k->L, 1);
  return given;
}

/* ---- comparisons ---- */

/* Pushes the value as a text in small letters; what is absent is "false". */
static struct bytes push_text(lua_State *L, int value) {
  value = lua_absindex(L, value);
  double n = lua_type(L, value) == LUA_TNUMBER ? lua_tonumber(L, value) : NAN;
  if (lua_isnil(L, value) || lua_islightuserdata(L, value))
    lua_pushliteral(L, "false");
  else if (fabs(n) < 9.2e18 && floor(n) == n)
    lua_pushinteger(L, (lua_Integer)n), lua_tolstring(L, -1, NULL);
  else
    luaL_tolstring(L, value, NULL);
  return check_bytes(L, lua_gettop(L));
}

static unsigned char small(unsigned char byte) {
  return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte | 0x20) : byte;
}

static bool same_text(lua_State *L, int a, int b) {
  a = lua_absindex(L, a), b = lua_absindex(L, b);
  struct bytes s = push_text(L, a), t = push_text(L, b);
  bool same = s.size == t.size;
  for (size_t i = 0; same && i < s.size; i++) same = small(s.data[i]) == small(t.data[i]);
  lua_pop(L, 2);
  return same;
}

static bool near(lua_State *L, int a, int b) {
  return lua_isnumber(L, a) && lua_isnumber(L, b) && fabs(lua_tonumber(L, a) - lua_tonumber(L, b)) <= 0.05;
}

/* Tariffs are compared by the function that was given. */
static bool same_tariff(lua_State *L, int stored, int wanted) {
  stored = lua_absindex(L, stored), wanted = lua_absindex(L, wanted);
  lua_pushvalue(L, SAME);
  lua_pushvalue(L, stored);
  lua_pushvalue(L, wanted);
  lua_call(L, 2, 1);
  bool same = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return same;
}

/* Whether the value at index is the one on top of the stack, which is popped. */
static bool fits(lua_State *L, enum settle_op op, int index) {
  static bool (*const compare[])(lua_State *, int, int) = {
      [SETTLE_TEXT] = same_text, [SETTLE_NUMBER] = near, [SETTLE_TARIFF] = same_tariff};
  bool found = compare[op](L, index, lua_gettop(L));
  lua_pop(L, 1);
  return found;
}

/* ---- what a parameter may be read back as ---- */

static void push_choice_value(lua_State *L, const struct choice *c) {
  if (c->text)
    lua_pushstring(L, c->text);
  else
    lua_pushnumber(L, c->number);
}

static bool equals_top(lua_State *L, int value) {
  bool equal = lua_rawequal(L, value, -1);
  lua_pop(L, 1);
  return equal;
}

/* The choice that is meant by a name or by the value itself, or NULL. */
static const struct choice *meant(lua_State *L, const struct choice *c, int value) {
  for (; c && c->name; c++) {
    lua_pushstring(L, c->name);
    if (equals_top(L, value)) return c;
    push_choice_value(L, c);
    if (equals_top(L, value)) return c;
  }
  return NULL;
}

static bool same_choice(const struct choice *a, const struct choice *b) {
  return a->text && b->text ? strcmp(a->text, b->text) == 0 : !a->text && !b->text && a->number == b->number;
}

static bool fits_choice(lua_State *L, enum settle_op op, int index, const struct choice *c) {
  lua_pushstring(L, c->name);
  if (fits(L, op, index)) return true;
  push_choice_value(L, c);
  return fits(L, op, index);
}

static bool fits_any_choice(lua_State *L, enum settle_op op, int index, const struct choice *list,
                            int value) {
  const struct choice *chosen = meant(L, list, value);
  for (const struct choice *c = list; chosen && c->name; c++)
    if (same_choice(c, chosen) && fits_choice(L, op, index, c)) return true;
  return false;
}

static void push_days(const struct look *k, const struct param *q) {
  struct plan p = {.L = k->L, .row = k->row};
  lua_pushinteger(k->L, (lua_Integer)days_value(&p, q, lua_gettop(k->L)));
  lua_replace(k->L, -2);
}

/* Whether the value on top of the stack, which is popped, is the parameter: as given, or any name or value of
 * the choice it is. */
static bool fits_parameter(const struct look *k, enum settle_op op, struct bytes name) {
  lua_State *L = k->L;
  const struct param *q = param_named(k->row, (const char *)name.data, name.size);
  int actual = lua_gettop(L);
  push_member(L, PARAMS, name);
  int value = lua_gettop(L);
  if (q && q->type == TYPE_DAYS) push_days(k, q);
  lua_pushvalue(L, value);
  bool found = fits(L, op, actual);
  if (!found && q && q->choices) found = fits_any_choice(L, op, actual, q->choices, value);
  lua_settop(L, actual - 1);
  return found;
}

/* ---- where they stand ---- */

/* Replaces the list on top by its element whose member has the value of a parameter: "id=$id". */
static void take_element(const struct look *k, struct bytes selector) {
  lua_State *L = k->L;
  struct bytes member, name = selector;
  int list = lua_gettop(L);
  if (!settle_cut(&name, "=$", &member)) return;
  for (lua_Integer i = 1; lua_istable(L, list) && lua_geti(L, list, i) != LUA_TNIL; i++) {
    push_member(L, -1, member);
    if (lua_istable(L, list + 1) && fits_parameter(k, SETTLE_TEXT, name)) return lua_replace(L, list);
    lua_settop(L, list);
  }
  lua_settop(L, list - 1);
  lua_pushnil(L);
}

static void push_step(const struct look *k, struct bytes step) {
  struct bytes name, selector = step;
  settle_cut(&selector, "[", &name);
  push_member(k->L, -1, name);
  lua_replace(k->L, -2);
  if (!selector.size) return;
  selector.size--; /* its ] */
  take_element(k, selector);
}

static void push_at(const struct look *k, struct bytes path) {
  struct bytes step;
  lua_pushvalue(k->L, DATA);
  while (settle_cut(&path, ".", &step)) push_step(k, step);
}

/* ---- parts ---- */

static bool all_given(const struct look *k, struct bytes text) {
  struct bytes name;
  while (settle_parameter(&text, &name))
    if (!is_given(k, name)) return false;
  return true;
}

static bool applies(const struct look *k, const struct settle_part *part) {
  struct bytes when = part->when, name, value;
  while (settle_condition(&when, &name, &value)) {
    if (!is_given(k, name)) return false;
    lua_pushlstring(k->L, (const char *)value.data, value.size);
    if (!fits_parameter(k, SETTLE_TEXT, name)) return false;
  }
  return all_given(k, part->path) && all_given(k, part->value);
}

static bool fits_literal(const struct look *k, const struct settle_part *part, int actual) {
  struct bytes rest = part->value, word;
  while (settle_cut(&rest, "|", &word)) {
    lua_pushlstring(k->L, (const char *)word.data, word.size);
    if (fits(k->L, part->op, actual)) return true;
  }
  return false;
}

enum shown { SHOWN_NOT, SHOWN, SHOWN_MISSING };

/* What the data says of a part; missing: that to which it would have to be compared. */
static enum shown compare(const struct look *k, const struct settle_part *part) {
  lua_State *L = k->L;
  struct bytes rest = {part->value.data + 1, part->value.size - 1};
  push_at(k, part->path);
  int actual = lua_gettop(L);
  if (part->value.data[0] == '$') return fits_parameter(k, part->op, rest) ? SHOWN : SHOWN_NOT;
  if (part->value.data[0] != '@') return fits_literal(k, part, actual) ? SHOWN : SHOWN_NOT;
  push_at(k, rest);
  if (lua_isnil(L, -1)) return SHOWN_MISSING;
  return fits(L, part->op, actual) ? SHOWN : SHOWN_NOT;
}

static void push_last_step(lua_State *L, struct bytes path) {
  struct bytes step = path;
  while (settle_cut(&path, ".", &step)) continue;
  lua_pushlstring(L, (const char *)step.data, step.size);
}

/* ---- for Lua ---- */

/* Takes (row, params, data, same) into the places of a look. */
static struct look look_at(lua_State *L, bool params) {
  struct look k = {.L = L};
  lua_settop(L, 4);
  luaL_checkstack(L, SLOTS, "a look");
  luaL_checktype(L, ROW, LUA_TTABLE);
  lua_getfield(L, ROW, "pointer");
  k.row = row_at(L, lua_gettop(L));
  lua_pop(L, 1);
  if (params && !lua_istable(L, PARAMS)) lua_newtable(L), lua_replace(L, PARAMS);
  return k;
}

/* expectation.sections(row) -> the sections that must be read to settle it, or nil when it names none */
static int l_sections(lua_State *L) {
  struct look k = look_at(L, false);
  struct bytes column = column_of(&k), section;
  struct settle_part part;
  lua_Integer count = 0;
  if (!column.size) return 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  while (settle_next(&column, &part)) {
    settle_cut(&part.path, ".", &section);
    lua_pushlstring(L, (const char *)section.data, section.size);
    bool seen = false;
    for (lua_Integer i = 1; i <= count && !seen; i++) lua_geti(L, list, i), seen = equals_top(L, list + 1);
    if (!seen) lua_pushvalue(L, -1), lua_seti(L, list, ++count);
    lua_settop(L, list);
  }
  return 1;
}

/* Pushes protocol and that the section is missing in the data. */
static int push_missing(lua_State *L, struct bytes section) {
  lua_pushliteral(L, "protocol");
  lua_pushliteral(L, "the reply holds no ");
  lua_pushlstring(L, (const char *)section.data, section.size);
  lua_concat(L, 2);
  return 2;
}

/* expectation.untold(row, data) -> nil, or the kind of failure and why the reply of vehicle_data does not
 * tell what became of a command. A 200 may carry what was cached before the vehicle fell asleep, and a
 * section may be withheld (doc/protocol.md#vehicle-data). */
static int l_untold(lua_State *L) {
  struct look k = look_at(L, false);
  struct bytes column = column_of(&k), section, state;
  struct settle_part part;
  push_member(L, DATA, bytes_of("state"));
  state = lua_type(L, -1) == LUA_TSTRING ? check_bytes(L, lua_gettop(L)) : bytes_of("");
  if (bytes_equal(state, bytes_of("asleep")) || bytes_equal(state, bytes_of("offline"))) {
    lua_pushfstring(L, "what can be read is old: the vehicle is %s", lua_tostring(L, -1));
    return 2;
  }
  while (settle_next(&column, &part)) {
    settle_cut(&part.path, ".", &section);
    push_member(L, DATA, section);
    if (!lua_istable(L, -1)) return push_missing(L, section);
    lua_pop(L, 1);
  }
  return 0;
}

/* expectation.can_tell(row, nil, params) -> whether a read can tell what became of the row with these
 * parameters: at least one part must compare something */
static int l_can_tell(lua_State *L) {
  struct look k = look_at(L, true);
  struct bytes column = column_of(&k);
  struct settle_part part;
  bool tells = false;
  while (!tells && settle_next(&column, &part)) tells = applies(&k, &part);
  lua_pushboolean(L, tells);
  return 1;
}

/* expectation.current(row, data) -> { parameter = value }, as the data says */
static int l_current(lua_State *L) {
  struct look k = look_at(L, true);
  struct bytes column = column_of(&k);
  struct settle_part part;
  lua_newtable(L);
  int found = lua_gettop(L);
  while (settle_next(&column, &part)) {
    if (part.value.data[0] != '$') continue;
    struct bytes name = {part.value.data + 1, part.value.size - 1};
    lua_newtable(L);
    lua_replace(L, PARAMS);
    lua_pushlstring(L, (const char *)name.data, name.size);
    lua_pushboolean(L, true);
    lua_settable(L, PARAMS);
    lua_pushlstring(L, (const char *)name.data, name.size);
    if (applies(&k, &part)) push_at(&k, part.path), lua_settable(L, found);
    lua_settop(L, found);
  }
  return 1;
}

/* expectation.holds(row, data, params, same) -> whether data (a table of sections) shows what the row with
 * these parameters wanted: true, false, or nil and what is missing in data to tell. same(stored, wanted)
 * compares tariffs */
static int l_holds(lua_State *L) {
  struct look k = look_at(L, true);
  struct bytes column = column_of(&k);
  struct settle_part part;
  while (settle_next(&column, &part)) {
    if (!applies(&k, &part)) continue;
    enum shown shown = compare(&k, &part);
    lua_settop(L, SAME);
    if (shown == SHOWN_NOT) return lua_pushboolean(L, false), 1;
    if (shown == SHOWN_MISSING) return lua_pushnil(L), push_last_step(L, part.value), 2;
  }
  lua_pushboolean(L, true);
  return 1;
}

void open_expectation(lua_State *L) {
  static const luaL_Reg functions[] = {{"sections", l_sections}, {"untold", l_untold},
                                       {"can_tell", l_can_tell}, {"current", l_current},
                                       {"holds", l_holds},       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "expectation");
}
