/* What a check found, as sentences: of one entry, and of a report, where entries that differ in the weekday
 * only are one line. An entry is a table that the caller may have made or changed. */
#include "bind/tariff/tariffs.h"
#include "tariff/day_text.h"
#include "tariff/kinds.h"

#include <string.h>

#define FAULT "fleet.tariff_fault"

struct sentence {
  lua_State *L;
  struct buf *out;
  int entry, spans; /* places on the stack; spans: those of all entries of the line */
};

/* ---- members ---- */

/* As bytes; what is left on the stack holds them. */
static struct bytes push_text(lua_State *L, int index) {
  struct bytes text;
  text.data = (const unsigned char *)luaL_tolstring(L, index, &text.size);
  return text;
}

static void add_text(struct sentence *s) {
  struct bytes text = push_text(s->L, -1);
  buf_add(s->out, text.data, text.size);
}

static void add_list(struct sentence *s) {
  int list = lua_gettop(s->L);
  size_t count = (size_t)lua_rawlen(s->L, list);
  for (size_t i = 0; i < count; i++, lua_settop(s->L, list)) {
    lua_rawgeti(s->L, list, (lua_Integer)i + 1);
    write_separator(s->out, i, count);
    add_text(s);
  }
}

static void add_member(struct sentence *s) {
  switch (lua_type(s->L, -1)) {
  case LUA_TNUMBER:
    buf_shortened(s->out, lua_tonumber(s->L, -1), 8);
    break;
  case LUA_TTABLE:
    add_list(s);
    break;
  default:
    add_text(s);
  }
}

static bool is_text(struct sentence *s, const char *text) {
  return lua_type(s->L, -1) == LUA_TSTRING && strcmp(lua_tostring(s->L, -1), text) == 0;
}

static void add_side(struct sentence *s) {
  buf_text_add(s->out, is_text(s, "buy") ? "buying" : "selling");
}

static void add_charged(struct sentence *s) {
  buf_text_add(s->out, is_text(s, "energy_charges") ? "energy price" : "demand price");
}

static void add_path(struct sentence *s) {
  if (is_text(s, ""))
    buf_text_add(s->out, "the tariff");
  else
    add_text(s);
}

static void add_currency(struct sentence *s) {
  if (is_text(s, "")) {
    buf_text_add(s->out, "the currency is missing");
    return;
  }
  buf_text_add(s->out, "currency '");
  add_text(s);
  buf_text_add(s->out, "' is not taken");
}

static void add_nearest(struct sentence *s) {
  if (!lua_toboolean(s->L, -1)) return;
  buf_text_add(s->out, "; did you mean '");
  add_text(s);
  buf_text_add(s->out, "'?");
}

/* The list of texts on top of the stack. */
static void add_spans(struct sentence *s) {
  lua_State *L = s->L;
  int list = lua_gettop(L);
  size_t count = lua_istable(L, list) ? lua_rawlen(L, list) : 0;
  struct bytes *spans = lua_newuserdatauv(L, (count + 1) * sizeof *spans, 0);
  for (size_t i = 0; i < count; i++, lua_settop(L, list + 1)) {
    size_t size = 0;
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : "";
    spans[i] = (struct bytes){(const unsigned char *)text, size}; /* the list holds it */
  }
  if (!write_spans(s->out, spans, count)) luaL_error(L, "out of memory");
}

static void add_span(struct sentence *s) {
  if (s->spans) lua_pushvalue(s->L, s->spans);
  if (s->spans && lua_rawlen(s->L, -1) > 1)
    add_spans(s);
  else if (s->spans)
    lua_pop(s->L, 1), add_text(s);
  else
    add_text(s);
}

/* What stands for a name in a sentence, where that is not its member. */
static const struct {
  const char *name, *member;
  void (*add)(struct sentence *s); /* of the value on top of the stack */
} words[] = {
    {"side", "side", add_side},          {"charged", "charges", add_charged}, {"path", "path", add_path},
    {"value", "value", add_text},        {"currency", "value", add_currency}, {"spans", "spans", add_spans},
    {"nearest", "nearest", add_nearest}, {"span", "span", add_span},
};

static void add_word(struct sentence *s, const char *name) {
  size_t i = 0, count = sizeof words / sizeof *words;
  int top = lua_gettop(s->L);
  while (i < count && strcmp(words[i].name, name) != 0) i++;
  lua_getfield(s->L, s->entry, i < count ? words[i].member : name);
  (i < count ? words[i].add : add_member)(s);
  lua_settop(s->L, top);
}

/* ---- one sentence ---- */

static void add_sentence(struct sentence *s, const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
  while (*text) {
    char name[24];
    size_t plain = strcspn(text, "$");
    buf_add(s->out, text, plain);
    text += plain;
    if (!*text) break;
    size_t size = strspn(++text, letters);
    memcpy(name, text, size);
    name[size] = 0;
    add_word(s, name);
    text += size;
  }
}

/* spans: place on the stack of those of the line, or 0. */
static void add_entry(lua_State *L, struct buf *out, int entry, int spans) {
  struct sentence s = {L, out, entry, spans};
  lua_getfield(L, entry, "kind");
  struct bytes name = push_text(L, -1);
  const struct tariff_kind_row *row = find_kind(name);
  if (row)
    add_sentence(&s, row->sentence);
  else
    buf_add(out, name.data, name.size);
  lua_pop(L, 2);
}

/* tostring(entry) */
static int l_sentence(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  struct buf *out = push_scratch(L);
  add_entry(L, out, 1, 0);
  push_buf(L, out);
  return 1;
}

void give_sentences(lua_State *L, int list) {
  size_t count = (size_t)lua_rawlen(L, list);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i);
    luaL_getmetatable(L, FAULT);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
  }
}

/* ---- lines ---- */

static void add_to_key(lua_State *L, struct buf *key, int value) {
  struct bytes text = push_text(L, value);
  buf_add(key, text.data, text.size);
  buf_put(key, '\0');
  lua_pop(L, 1);
}

/* Pushes what an entry has but for the day, or nil for one without hours. */
static void push_key(lua_State *L, struct buf *key, int entry) {
  static const char *const members[] = {"kind", "side", "season"};
  int day, top = lua_gettop(L);
  buf_clear(key);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    lua_getfield(L, entry, members[i]), add_to_key(L, key, -1);
  lua_getfield(L, entry, "labels");
  size_t labels = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  for (size_t i = 1; i <= labels; i++, lua_pop(L, 1))
    lua_rawgeti(L, top + 4, (lua_Integer)i), add_to_key(L, key, -1);
  lua_getfield(L, entry, "span");
  bool has_span = lua_toboolean(L, -1);
  struct bytes hours = split_span(push_text(L, -1), &day);
  buf_add(key, hours.data, hours.size);
  lua_settop(L, top);
  if (has_span)
    push_buf(L, key);
  else
    lua_pushnil(L);
}

/* Pushes the line of the entry, at the end of the lines if it is new. by_key: where its key is found. */
static void push_line(lua_State *L, int lines, int by_key, int entry) {
  int key = lua_gettop(L);
  lua_pushvalue(L, key), lua_rawget(L, by_key);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_createtable(L, 1, 1);
  lua_pushvalue(L, entry), lua_setfield(L, -2, "entry");
  lua_pushvalue(L, -1), list_append(L, lines);
  if (!lua_isnil(L, key)) lua_pushvalue(L, key), lua_pushvalue(L, -2), lua_rawset(L, by_key);
}

/* Pushes the lines of the list on top of the stack: { { entry =, its spans }, ... }. */
static void push_lines(lua_State *L) {
  int list = lua_gettop(L), lines = list + 1, by_key = list + 2, entry = list + 4;
  lua_newtable(L), lua_newtable(L);
  struct buf *key = push_scratch(L);
  for (lua_Integer i = 1; lua_rawgeti(L, list, i), lua_istable(L, entry); i++, lua_settop(L, entry - 1)) {
    push_key(L, key, entry);
    push_line(L, lines, by_key, entry);
    lua_getfield(L, entry, "span");
    list_append(L, entry + 2);
  }
  lua_settop(L, lines);
}

/* Of the lines on top of the stack, from 1. */
static void add_line(lua_State *L, struct buf *out, size_t i) {
  int line = lua_gettop(L) + 1;
  lua_rawgeti(L, -1, (lua_Integer)i);
  lua_getfield(L, line, "entry");
  add_entry(L, out, line + 1, line);
  lua_settop(L, line - 1);
}

/* Pushes a list of the report, an empty one if it has none. */
static void push_list(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  if (!lua_istable(L, -1)) lua_pop(L, 1), lua_newtable(L);
}

static void check_report(lua_State *L) {
  if (!lua_istable(L, 1))
    usage_error(L, "fleet.tariff.explain: the report must be a table, got a %s", luaL_typename(L, 1));
  lua_settop(L, 1);
}

/* core.tariff_explain(report) -> "problem: ...", "the service will change: ...", "warning: ..." in lines, or
 * one that says all is well. */
static int l_explain(lua_State *L) {
  static const char *const before[] = {"problem: ", "the service will change: ", "warning: "};
  check_report(L);
  struct buf *out = push_scratch(L);
  lua_getfield(L, 1, "valid");
  if (lua_toboolean(L, -1))
    buf_text_add(out, "valid: every minute of every season has one period and one price");
  lua_settop(L, 2);
  for (int list = 0; list < TARIFF_LISTS; list++, lua_settop(L, 2)) {
    push_list(L, tariff_lists[list]);
    push_lines(L);
    size_t count = (size_t)lua_rawlen(L, -1);
    for (size_t i = 1; i <= count; i++) {
      if (out->size) buf_put(out, '\n');
      buf_text_add(out, before[list]);
      add_line(L, out, i);
    }
  }
  push_buf(L, out);
  return 1;
}

enum { TOLD = 3 };

/* core.tariff_summary(report) -> one sentence for err.message: the first three problems */
static int l_summary(lua_State *L) {
  check_report(L);
  struct buf *out = push_scratch(L);
  push_list(L, "problems");
  push_lines(L);
  size_t count = (size_t)lua_rawlen(L, -1);
  buf_text_add(out, "the tariff is not valid: ");
  for (size_t i = 1; i <= count && i <= TOLD; i++) {
    if (i > 1) buf_text_add(out, "; ");
    add_line(L, out, i);
  }
  if (count > TOLD) buf_format(out, "; and %zu more", count - TOLD);
  push_buf(L, out);
  return 1;
}

/* core.tariff_kinds() -> the names of the kinds of finding */
static int l_kinds(lua_State *L) {
  lua_newtable(L);
  for (lua_Integer i = 0; tariff_kind_rows[i].name; i++) {
    lua_pushstring(L, tariff_kind_rows[i].name);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

void open_explain(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"tariff_explain", l_explain}, {"tariff_summary", l_summary}, {"tariff_kinds", l_kinds}, {NULL, NULL}};
  luaL_newmetatable(L, FAULT);
  lua_pushliteral(L, FAULT), lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, l_sentence), lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
