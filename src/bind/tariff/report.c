/* What the core found in a tariff, as the tables that callers see. */
#include "bind/tariff/tariffs.h"
#include "tariff/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const day_names[7] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* ---- fields ---- */

const char *side_name(enum tariff_side side) {
  return side == TARIFF_BUY ? "buy" : "sell";
}

static void set_date(lua_State *L, const char *field, uint32_t day) {
  int month, date;
  tariff_date(day, &month, &date);
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
  set_integer(L, "minutes", (lua_Integer)(f->to - f->from));
}

static void push_fault(lua_State *L, const struct tariff_report *r, const struct tariff_fault *f) {
  unsigned members = tariff_kind_rows[f->kind].members;
  lua_createtable(L, 0, 8);
  set_text(L, "kind", tariff_kind_rows[f->kind].name);
  if (members & ON_SIDE) set_text(L, "side", side_name(f->side));
  if (members & ON_CHARGES)
    set_text(L, "charges", f->charges == TARIFF_ENERGY ? "energy_charges" : "demand_charges");
  if (members & ON_SEASON) set_bytes(L, "season", f->season);
  if (members & ON_LABEL) set_bytes(L, "label", f->label);
  if (members & LABELS) set_names(L, "labels", r, f);
  if (members & SEASONS) set_names(L, "seasons", r, f);
  if (members & SPAN) set_span(L, f);
  if (members & DATES) set_date(L, "from", f->from), set_date(L, "to", f->to);
  if (members & PRICE) set_number(L, "price", f->price);
  if (members & BECOMES) set_number(L, "becomes", f->becomes);
  if (members & PAIR) set_pair(L, r, f);
  if (members & RANGES) set_ranges(L, r, f);
}

/* ---- the order of what reading found ---- */

/* lua_next gives members in an accidental order, so what reading found is sorted by place and key. */
struct found {
  const char *path, *key;
  int index;
};

static int by_place(const void *left, const void *right) {
  const struct found *a = left, *b = right;
  int order = strcmp(a->path, b->path);
  if (!order) order = strcmp(a->key, b->key);
  return order ? order : a->index - b->index;
}

/* The text stays alive in the table of the problem. */
static const char *text_member(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return text;
}

static void sort_found(lua_State *L, int problems, lua_Integer count) {
  if (count < 2) return;
  struct found *found = lua_newuserdatauv(L, (size_t)count * sizeof *found, 0);
  lua_createtable(L, (int)count, 0); /* found copy */
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, problems, i);
    found[i - 1] = (struct found){text_member(L, "path"), text_member(L, "key"), (int)i};
    lua_rawseti(L, -2, i);
  }
  qsort(found, (size_t)count, sizeof *found, by_place);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, -1, found[i - 1].index);
    lua_rawseti(L, problems, i);
  }
  lua_pop(L, 2);
}

static bool is_allowed(lua_State *L, unsigned allowed) {
  const char *kind = text_member(L, "kind");
  return (allowed & ALLOW_CURRENCY && strcmp(kind, "bad_currency") == 0) ||
         (allowed & ALLOW_UNKNOWN && strcmp(kind, "unknown_key") == 0);
}

/* Moves the problems that are allowed to the warnings. */
static void allow(lua_State *L, unsigned allowed, const int at[TARIFF_LISTS],
                  lua_Integer counts[TARIFF_LISTS]) {
  lua_Integer kept = 0, count = counts[TARIFF_PROBLEMS];
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, at[TARIFF_PROBLEMS], i);
    if (is_allowed(L, allowed))
      lua_rawseti(L, at[TARIFF_WARNINGS], ++counts[TARIFF_WARNINGS]);
    else
      lua_rawseti(L, at[TARIFF_PROBLEMS], ++kept);
  }
  for (lua_Integer i = kept + 1; i <= count; i++) lua_pushnil(L), lua_rawseti(L, at[TARIFF_PROBLEMS], i);
  counts[TARIFF_PROBLEMS] = kept;
}

void push_tariff_report(lua_State *L, const struct tariff_report *report, int problems, lua_Integer count,
                        unsigned allowed) {
  lua_Integer counts[TARIFF_LISTS] = {count, 0, 0};
  sort_found(L, problems, count);
  lua_createtable(L, 0, 4);
  int out = lua_gettop(L), at[TARIFF_LISTS] = {problems, out + 1, out + 2};
  lua_newtable(L), lua_newtable(L); /* report normalisations warnings */
  for (size_t i = 0; i < report->fault_count; i++) {
    enum tariff_list list = tariff_kind_rows[report->faults[i].kind].list;
    push_fault(L, report, &report->faults[i]);
    lua_rawseti(L, at[list], ++counts[list]);
  }
  if (allowed) allow(L, allowed, at, counts);
  for (int i = 0; i < TARIFF_LISTS; i++) lua_pushvalue(L, at[i]), lua_setfield(L, out, tariff_lists[i]);
  lua_pushboolean(L, counts[TARIFF_PROBLEMS] == 0);
  lua_setfield(L, out, "valid");
  lua_settop(L, out);
}
