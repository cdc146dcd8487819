#include "bind/call/call_options.h"
#include "bind/call/handles.h"
#include "bind/lua/json.h"

#include <string.h>

/* ---- parameters ---- */

enum { MOST_PARAMS = 40 };

static bool in_table(const struct plan *p, const struct param *q) {
  return q->place != IN_PATH && !handle_implies(p->row, q);
}

static size_t param_names(const struct plan *p, const char **names) {
  size_t count = 0;
  for (const struct param *q = p->row->params; q && q->name && count < MOST_PARAMS; q++)
    if (in_table(p, q)) names[count++] = q->name;
  return count;
}

static bool takes_params(const struct plan *p) {
  const char *names[MOST_PARAMS];
  return param_names(p, names) > 0 || p->row->flags & ROW_BODY_AS_GIVEN;
}

void check_names(const struct plan *p) {
  const char *names[MOST_PARAMS];
  size_t count = param_names(p, names);
  if (!p->params || p->row->flags & ROW_BODY_AS_GIVEN) return;
  for (lua_pushnil(p->L); lua_next(p->L, p->params); lua_pop(p->L, 1)) {
    if (lua_type(p->L, -2) != LUA_TSTRING)
      mistake(p, "parameters are given by name, as { %s = ... }", count ? names[0] : "name");
    const char *given = lua_tostring(p->L, -2);
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = strcmp(names[i], given) == 0;
    if (!known) unknown_name(p, "parameter", given, names, count);
  }
}

static bool switched_on(const struct plan *p) {
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (!(q->flags & SWITCH)) continue;
    lua_getfield(p->L, p->params, q->name);
    bool on = lua_toboolean(p->L, -1);
    lua_pop(p->L, 1);
    return on;
  }
  return false;
}

static void missing(const struct plan *p, const struct param *q) {
  const char *about = q->unit ? q->unit : q->doc;
  mistake(p, "'%s' is missing%s%s%s", q->name, about ? " (" : "", about ? about : "", about ? ")" : "");
}

/* Pushes the value of a parameter and says whether one was given. */
bool push_param(const struct plan *p, const struct param *q) {
  if (handle_implies(p->row, q)) {
    handle_push_id(p->L, p->handle);
    return true;
  }
  if (p->params && lua_getfield(p->L, p->params, q->name) != LUA_TNIL) return true;
  if (p->params) lua_pop(p->L, 1);
  if (q->flags & (REQUIRED | FROM_STATE) || (q->flags & REQUIRED_ON && p->params && switched_on(p)))
    missing(p, q);
  return false;
}

/* The walk over pages writes these itself. */
static bool turns_pages(const struct row *row, const struct param *q) {
  static const char *const words[] = {"", "page per_page", "pageNo pageSize", "limit offset"};
  return word_in(words[row->paging], q->name, strlen(q->name));
}

static void add_query_item(struct plan *p, const char *name, struct bytes value) {
  struct buf *target = &p->request->target;
  buf_format(target, "%s%s=", p->separator, name);
  buf_percent(target, value);
  p->separator = "&";
}

static void check_pages(const struct plan *p, const struct param *q) {
  struct buf *text = push_scratch(p->L);
  plain_text(p, q, lua_gettop(p->L) - 1, text);
  box_close(p->L, -1);
  lua_pop(p->L, 1);
}

static void add_query(struct plan *p) {
  p->separator = "?";
  if (p->row->query) {
    buf_format(&p->request->target, "?%s", p->row->query);
    p->separator = "&";
  }
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (q->place != IN_QUERY || !push_param(p, q)) continue;
    if (turns_pages(p->row, q)) {
      check_pages(p, q);
    } else {
      struct buf *text = push_scratch(p->L);
      plain_text(p, q, lua_gettop(p->L) - 1, text);
      add_query_item(p, q->name, buf_bytes(text));
      box_close(p->L, -1);
      lua_pop(p->L, 1);
    }
    lua_pop(p->L, 1);
  }
  p->request->query_follows = p->separator[0] == '&';
}

static void add_member(struct plan *p, const struct param *q) {
  struct buf *body = &p->request->body;
  buf_text_add(body, p->separator);
  buf_json_string(body, bytes_of(q->name));
  buf_put(body, ':');
  json_value(p, q, lua_gettop(p->L), body);
  p->separator = ",";
}

static void add_members(struct plan *p) {
  size_t given = 0;
  p->separator = "";
  buf_put(&p->request->body, '{');
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (q->place != IN_BODY || !push_param(p, q)) continue;
    add_member(p, q);
    lua_pop(p->L, 1);
    given++;
  }
  buf_put(&p->request->body, '}');
  const char *names[MOST_PARAMS];
  if (p->row->flags & ROW_ANY_OF && given == 0 && param_names(p, names) > 0)
    mistake(p, "at least one parameter is needed, such as '%s'", names[0]);
}

static void add_body(struct plan *p) {
  struct request *r = p->request;
  if (strcmp(p->row->verb, "POST") != 0) return;
  r->has_body = true;
  if (p->row->flags & ROW_BODY_AS_GIVEN) {
    if (p->params)
      json_encode(p->L, p->params, &r->body, NULL);
    else
      buf_text_add(&r->body, "{}");
    return;
  }
  if (p->row->wrap) {
    buf_put(&r->body, '{');
    buf_json_string(&r->body, bytes_of(p->row->wrap));
    buf_put(&r->body, ':');
  }
  add_members(p);
  if (p->row->wrap) buf_put(&r->body, '}');
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

/* ---- the path ---- */

const struct param *param_named(const struct row *row, const char *name, size_t size) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (strlen(q->name) == size && memcmp(q->name, name, size) == 0) return q;
  return NULL;
}

/* Where the value of a placeholder comes from: the handle's id, or the next positional argument. */
static int push_placeholder(struct plan *p, const struct param *q, int *argument) {
  if (handle_implies(p->row, q))
    push_param(p, q);
  else if (*argument < p->box)
    lua_pushvalue(p->L, (*argument)++);
  else
    lua_pushnil(p->L);
  if (lua_isnil(p->L, -1)) mistake(p, "'%s' is missing", q->name);
  return lua_gettop(p->L);
}

static void add_path(struct plan *p, int *argument) {
  struct buf *target = &p->request->target;
  const char *at = p->row->path;
  for (;;) {
    size_t plain = strcspn(at, "{");
    buf_add(target, at, plain);
    at += plain;
    if (!*at) return;
    size_t size = strcspn(++at, "}");
    const struct param *q = param_named(p->row, at, size);
    if (!q) luaL_error(p->L, "row %s: no parameter for a placeholder", p->row->name);
    struct buf *text = push_scratch(p->L);
    plain_text(p, q, push_placeholder(p, q, argument), text);
    buf_percent(target, buf_bytes(text));
    box_close(p->L, -2);
    lua_pop(p->L, 2);
    at += size + 1;
  }
}

/* ---- core.plan(row, handle, ...) -> request ---- */

static bool stands_in(const void *given, const struct row *rows, size_t count) {
  uintptr_t offset = (uintptr_t)given - (uintptr_t)rows;
  return offset < count * sizeof *rows && offset % sizeof *rows == 0;
}

/* Only what core.row gave is a row: any other pointer is somebody else's. */
const struct row *row_at(lua_State *L, int index) {
  const void *given = lua_islightuserdata(L, index) ? lua_touserdata(L, index) : NULL;
  if (!stands_in(given, endpoint_rows, endpoint_count) && !stands_in(given, command_rows, command_count))
    luaL_typeerror(L, index, "row");
  return given;
}

struct request *request_new(lua_State *L, const struct row *row) {
  struct request *r = box_new(L, &request_type, sizeof *r, 1);
  box_open(L, -1);
  r->row = row;
  return r;
}

/* A table argument at this place, 0 when there is none; anything else is the caller's mistake. */
static int optional_table(const struct plan *p, int index, const char *what) {
  if (index >= p->box || lua_isnil(p->L, index)) return 0;
  if (lua_type(p->L, index) != LUA_TTABLE)
    mistake(p, "%s must be a table, got %s", what, luaL_typename(p->L, index));
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

static void write_down(struct plan *p) {
  read_call_options(p);
  add_query(p);
  add_body(p);
  check_locals(p);
  if (p->params) {
    lua_pushvalue(p->L, p->params);
    lua_setiuservalue(p->L, p->box, REQUEST_PARAMS);
  }
  if (!buf_ok(&p->request->target) || !buf_ok(&p->request->body)) luaL_error(p->L, "out of memory");
  lua_settop(p->L, p->box);
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

static int l_plan(lua_State *L) {
  struct plan p = {.L = L, .row = row_at(L, 1), .handle = 2, .separator = ""};
  const char *kind = handle_kind(L, 2);
  if (!kind || strcmp(kind, p.row->handle) != 0) mistake(&p, "call it with a colon, on a %s", p.row->handle);
  p.request = request_new(L, p.row);
  p.box = lua_gettop(L);
  int argument = 3;
  add_path(&p, &argument);
  if (takes_params(&p)) p.params = params_at(&p, argument++);
  p.options = optional_table(&p, argument++, "the options");
  if (argument < p.box && !lua_isnil(L, argument)) mistake(&p, "too many arguments");
  check_names(&p);
  write_down(&p);
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
  box_define(L, &request_type);
  lua_pop(L, 1);
  static const luaL_Reg functions[] = {{"plan", l_plan},
                                       {"row_options", l_row_options},
                                       {"check_id", l_check_id},
                                       {"days", l_days},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
