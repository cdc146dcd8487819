/* The weeks of a tariff's seasons, as pictures of it need them. */
#include "bind/tariff/tariffs.h"
#include "tariff/week_periods.h"

#include <stdlib.h>

static void release_rows(void *object) {
  free(((struct day_rows *)object)->rows);
}

static const struct box_type rows_type = {"fleet.tariff_rows", release_rows, NULL, NULL};

void define_weeks(lua_State *L) {
  box_define(L, &rows_type);
  lua_pop(L, 1);
}

static void push_span(lua_State *L, lua_Integer from, lua_Integer to, struct bytes label, double price) {
  lua_createtable(L, 0, 5);
  set_integer(L, "from", from), set_integer(L, "to", to);
  set_bytes(L, "label", label);
  lua_pushnumber(L, price), lua_setfield(L, -2, "price");
}

static void push_week_span(lua_State *L, const struct tariff *t, const struct span *span) {
  struct bytes name;
  double price[TARIFF_CHARGES];
  tariff_label(t, span->id, &name, price);
  push_span(L, span->from, span->to, name, price[TARIFF_ENERGY]);
  lua_pushnumber(L, price[TARIFF_DEMAND]), lua_setfield(L, -2, "demand");
}

/* ---- days that are alike ---- */

/* The box of the rows stays on the stack, and the stretches below it. */
static struct day_rows *push_rows(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  struct stretch *stretches = lua_newuserdatauv(L, (week->count + 1) * sizeof *stretches, 0);
  for (size_t i = 0; i < week->count; i++) {
    double price[TARIFF_CHARGES];
    stretches[i] = (struct stretch){.from = week->spans[i].from, .to = week->spans[i].to};
    tariff_label(t, week->spans[i].id, &stretches[i].name, price);
    stretches[i].price = price[TARIFF_ENERGY];
  }
  struct day_rows *rows = box_new(L, &rows_type, sizeof *rows, 0);
  box_open(L, -1);
  if (!fill_rows(rows, stretches, week->count)) luaL_error(L, "out of memory");
  return rows;
}

/* Pushes { first, last, spans = { { from, to, label, price }, ... } } of the rows from place i; the place
 * after them. */
static size_t push_run(lua_State *L, const struct day_rows *rows, size_t i) {
  int day = rows->rows[i].period.from_day;
  lua_createtable(L, 0, 3);
  set_integer(L, "first", day), set_integer(L, "last", rows->rows[i].period.to_day);
  lua_newtable(L);
  for (lua_Integer n = 1; i < rows->row_count && rows->rows[i].period.from_day == day; i++, n++) {
    const struct day_row *row = &rows->rows[i];
    push_span(L, row->period.from_minute, row->period.to_minute, row->name, row->price);
    lua_rawseti(L, -2, n);
  }
  lua_setfield(L, -2, "spans");
  return i;
}

/* Sets runs of the table on top. */
static void set_runs(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  int top = lua_gettop(L);
  const struct day_rows *rows = push_rows(L, t, week);
  lua_newtable(L);
  size_t i = 0;
  for (lua_Integer n = 1; i < rows->row_count; n++) {
    i = push_run(L, rows, i);
    lua_rawseti(L, -2, n);
  }
  lua_setfield(L, top, "runs");
  box_close(L, top + 2);
  lua_settop(L, top);
}

static void push_week(lua_State *L, const struct tariff *t, const struct tariff_week *week) {
  const int dates[] = {week->dates.from_month, week->dates.from_day, week->dates.to_month,
                       week->dates.to_day};
  lua_createtable(L, (int)week->count, 6);
  set_bytes(L, "name", week->name);
  for (int i = 0; i < 4; i++) set_integer(L, tariff_date_member(i), dates[i]);
  for (size_t i = 0; i < week->count; i++) {
    push_week_span(L, t, &week->spans[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_runs(L, t, week);
}

/* By first day { { name, fromMonth, ..., { from, to, label, price, demand }, ..., runs = { { first, last,
 * spans
 * }, ... } }, ... }: a run is days that are alike, Monday is 0. */
int push_weeks(lua_State *L, const struct tariff *t, enum tariff_side side) {
  struct tariff_week week;
  lua_newtable(L);
  for (size_t i = 0; tariff_week(t, side, i, &week); i++) {
    push_week(L, t, &week);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
