#include "bind/call/call_options.h"
#include "bind/call/handles.h"
#include "bind/call/param_values.h"
#include "bind/crypto/context.h"
#include "bind/lua/json.h"

#include <string.h>

static bool takes_params(const struct plan *p) {
  const char *names[MOST_PARAMS];
  return param_names(p, names) > 0 || p->row->flags & ROW_BODY_AS_GIVEN;
}

/* ---- checking without writing ---- */

/* The value at the top. */
static void check_value(const struct plan *p, const struct param *q) {
  int index = lua_gettop(p->L);
  if (q->choices && q->type != TYPE_STRINGS) {
    choice_value(p, q, index);
  } else if (q->type == TYPE_BOOLEAN) {
    if (!is_boolean_word(p, q, index)) boolean_value(p, q, index);
  } else if (q->type == TYPE_INTEGER) {
    integer_value(p, q, index);
  } else if (q->type == TYPE_NUMBER) {
    number_value(p, q, index);
  } else if (q->type == TYPE_DAYS) {
    days_value(p, q, index);
  } else { /* the others are checked by writing them */
    struct buf *text = push_scratch(p->L);
    json_value(p, q, index, text);
    box_close(p->L, -1);
    lua_settop(p->L, index);
  }
}

/* Checks the parameters and pushes a table of them: what the caller does with its own while the call waits
 * changes nothing. */
static void take_params(const struct plan *p) {
  size_t given = 0;
  lua_createtable(p->L, 0, 4);
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (!in_param_table(p, q)) continue;
    if (!push_param(p, q)) {
      if (!(q->flags & FRESH_ID)) continue;
      lua_pushinteger(p->L, (lua_Integer)fresh_id(p->L));
    }
    check_value(p, q);
    lua_setfield(p->L, -2, q->name);
    given += q->place == IN_BODY;
  }
  check_any(p, given);
}

/* Local parameters are for the module itself: they are checked like the others and stay among the parameters.
 */
static void check_locals(const struct plan *p) {
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (q->place != IN_LOCAL || !push_param(p, q)) continue;
    struct buf *text = push_scratch(p->L);
    if (q->type != TYPE_OBJECT) plain_text(p, q, lua_gettop(p->L) - 1, text);
    box_close(p->L, -1);
    lua_pop(p->L, 2);
  }
}

/* ---- core.plan(row, handle, ...) -> request ---- */

static bool stands_in(const void *given, const struct row *rows, size_t count) {
  uintptr_t offset = (uintptr_t)given - (uintptr_t)rows;
  return offset < count * sizeof *rows && offset % sizeof *rows == 0;
}

/* Only what core.row gave is a row: any other pointer is refused. */
const struct row *row_at(lua_State *L, int index) {
  const void *given = lua_islightuserdata(L, index) ? lua_touserdata(L, index) : NULL;
  if (!stands_in(given, endpoint_rows, endpoint_count) && !stands_in(given, command_rows, command_count))
    luaL_typeerror(L, index, "row");
  return given;
}

/* A table argument at this place, 0 when there is none; anything else is the caller's mistake. */
static int optional_table(const struct plan *p, int index, const char *what) {
  if (index >= p->box || lua_isnil(p->L, index)) return 0;
  if (lua_type(p->L, index) != LUA_TTABLE)
    call_usage_error(p, "%s must be a table such as { name = value }, got %s", what,
                     luaL_typename(p->L, index));
  return index;
}

static const struct param *whole_param(const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (q->flags & WHOLE) return q;
  return NULL;
}

/* Whether the argument is the value of a WHOLE parameter itself rather than a table that names it. */
static bool stands_alone(const struct plan *p, const struct param *q, int index) {
  if (lua_type(p->L, index) != LUA_TTABLE) return true;
  bool named = lua_getfield(p->L, index, q->name) != LUA_TNIL;
  bool list = lua_geti(p->L, index, 1) != LUA_TNIL;
  lua_pop(p->L, 2);
  if (named) return false;
  return q->type == TYPE_VINS || q->type == TYPE_STRINGS ? list : q->type == TYPE_TARIFF;
}

static int params_at(const struct plan *p, int index) {
  const struct param *whole = whole_param(p->row);
  if (!whole || index >= p->box || lua_isnil(p->L, index) || !stands_alone(p, whole, index))
    return optional_table(p, index, "the parameters");
  lua_createtable(p->L, 0, 1);
  lua_pushvalue(p->L, index);
  lua_setfield(p->L, -2, whole->name);
  return lua_gettop(p->L);
}

/* A command that may be signed is written by what carries it: as a body here, or as a message in a session.
 */
static void defer_writing(struct plan *p) {
  take_params(p);
  lua_setiuservalue(p->L, p->box, REQUEST_PARAMS);
  lua_pushvalue(p->L, p->handle);
  lua_setiuservalue(p->L, p->box, REQUEST_HANDLE);
}

/* What has one form only is checked by writing it. */
static void write_now(struct plan *p) {
  write_content(p);
  check_locals(p);
  if (!p->params) return;
  lua_pushvalue(p->L, p->params);
  lua_setiuservalue(p->L, p->box, REQUEST_PARAMS);
}

/* core.row_options(row) -> the names of the options that say something for its calls */
static int l_row_options(lua_State *L) {
  const struct row *row = row_at(L, 1);
  lua_newtable(L);
  for (const struct option *o = call_option_rows; o->name; o++) {
    if (!option_concerns(o, row)) continue;
    lua_pushstring(L, o->name);
    lua_seti(L, -2, luaL_len(L, -2) + 1);
  }
  return 1;
}

/* Whether nil or an empty table is given in the place of the parameters of a row without any, and something
 * behind it. */
static bool stands_for_none(const struct plan *p, int index) {
  if (index + 1 >= p->box || !lua_istable(p->L, index + 1)) return false;
  if (lua_isnil(p->L, index)) return true;
  if (!lua_istable(p->L, index)) return false;
  lua_pushnil(p->L);
  if (!lua_next(p->L, index)) return true;
  lua_pop(p->L, 2);
  return false;
}

/* Plans a call and pushes its request alone; mistakes of the caller raise. */
static void plan_request(lua_State *L) {
  const int first = 1;
  struct plan p = {.L = L, .row = row_at(L, first), .handle = first + 1, .separator = ""};
  const char *kind = handle_kind(L, p.handle);
  if (!kind || strcmp(kind, p.row->handle) != 0)
    call_usage_error(&p, "call it with a colon, on a %s", p.row->handle);
  p.request = request_new(L, p.row);
  p.box = lua_gettop(L);
  int argument = first + 2;
  if (!p.row->message) write_path(&p, &argument);
  if (takes_params(&p))
    p.params = params_at(&p, argument++);
  else if (stands_for_none(&p, argument))
    argument++;
  p.options = optional_table(&p, argument++, "the options");
  for (; argument < p.box; argument++)
    if (!lua_isnil(L, argument)) call_usage_error(&p, "too many arguments");
  check_table(&p);
  read_call_options(&p);
  if (p.row->message)
    defer_writing(&p);
  else
    write_now(&p);
  lua_settop(L, p.box);
}

static int l_plan(lua_State *L) {
  plan_request(L);
  return 1;
}

/* core.check_id(what, value) -> the id as a string; raises for what cannot be one (an id becomes part of an
 * address) */
static int l_check_id(lua_State *L) {
  static const char *const kinds[] = {"vehicle", "energy_site", NULL};
  bool vehicle = luaL_checkoption(L, 1, NULL, kinds) == 0;
  const struct param id = {.name = vehicle ? "vin" : "id",
                           .type = vehicle ? TYPE_VIN : TYPE_ID,
                           .min = vehicle ? 0 : 1,
                           .max = vehicle ? 0 : 18446744073709551615.0};
  const struct row row = {.method = vehicle ? "vehicle" : "energy_site"};
  struct plan p = {.L = L, .row = &row};
  luaL_checkany(L, 2);
  struct buf *text = push_scratch(L);
  plain_text(&p, &id, 2, text);
  push_buf(L, text);
  return 1;
}

/* core.days(value) -> the mask of days of the week, Sunday = 1; raises for what names none */
static int l_days(lua_State *L) {
  static const struct param days = {.name = "days_of_week", .type = TYPE_DAYS};
  static const struct row row = {.method = "days"};
  struct plan p = {.L = L, .row = &row};
  struct value mask = {0};
  luaL_checkany(L, 1);
  signed_value(&p, &days, 1, &mask);
  lua_pushinteger(L, (lua_Integer)mask.integer);
  return 1;
}

void open_plan(lua_State *L) {
  static const luaL_Reg functions[] = {{"plan", l_plan},
                                       {"row_options", l_row_options},
                                       {"check_id", l_check_id},
                                       {"days", l_days},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
