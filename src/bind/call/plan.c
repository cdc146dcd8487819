#include "bind/call/arguments.h"
#include "bind/call/handles.h"
#include "bind/call/request.h"
#include "bind/lua/value.h"

#include <string.h>

/* core.plan makes a request of a method's arguments, which are on the stack from first to before behind. */

/* The first arguments are the placeholders of the path, without those that the handle implies. */
static int take_path(lua_State *L, struct arguments *a, int first, int behind) {
  struct node *path = node_new(a->arena, NODE_OBJECT);
  const char *at = a->row->path;
  for (const struct param *q; (q = next_placeholder(a->row, &at));) {
    if (handle_implies(a->row, q)) continue;
    int index = first++;
    if (index < behind && !lua_isnil(L, index)) node_set(path, q->name, arguments_value(L, index, a));
  }
  a->path = path;
  return first;
}

/* A table argument at this place, 0 when there is none; anything else is the caller's mistake. */
static int optional_table(lua_State *L, const struct arguments *a, int index, int behind, const char *what) {
  if (index >= behind || lua_isnil(L, index)) return 0;
  if (lua_istable(L, index)) return index;
  mistake(a, "%s must be a table such as { name = value }, got %s", what, luaL_typename(L, index));
  arguments_check(L, a);
  return 0;
}

static const struct param *whole_param(const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (q->flags & WHOLE) return q;
  return NULL;
}

/* Whether the argument is the value of a WHOLE parameter itself rather than a table that names it. */
static bool is_whole(lua_State *L, const struct param *q, int index) {
  if (!lua_istable(L, index)) return true;
  bool named = lua_getfield(L, index, q->name) != LUA_TNIL;
  bool list = lua_geti(L, index, 1) != LUA_TNIL;
  lua_pop(L, 2);
  if (named) return false;
  return q->type == TYPE_VINS || q->type == TYPE_STRINGS ? list : q->type == TYPE_TARIFF;
}

/* The index of the table of parameters; 0: none. A WHOLE parameter that is given alone is put into a new
 * table. */
static int table_of_params(lua_State *L, const struct arguments *a, int index, int behind) {
  const struct param *whole = whole_param(a->row);
  if (!whole || index >= behind || lua_isnil(L, index) || !is_whole(L, whole, index))
    return optional_table(L, a, index, behind, "the parameters");
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, index);
  lua_setfield(L, -2, whole->name);
  return lua_gettop(L);
}

/* Whether the row has no parameters and the caller gave nil or an empty table for them, followed by
 * options. */
static bool is_empty_params(lua_State *L, const struct arguments *a, int index, int behind) {
  if (index + 1 >= behind || !lua_istable(L, index + 1)) return false;
  return lua_isnil(L, index) || (lua_istable(L, index) && !arguments_value(L, index, a)->first);
}

/* ---- target, body and kept parameters ---- */

/* Pushes the table or object that the caller gave under this name; false: it gave another type. */
static bool push_given_object(lua_State *L, int given, const char *name) {
  int type = given ? lua_getfield(L, given, name) : LUA_TNONE;
  if (type == LUA_TTABLE || type == LUA_TUSERDATA) return true;
  lua_pop(L, type != LUA_TNONE);
  return false;
}

/* The checked parameters for Lua: tables and objects are those that were given. */
static void push_params(lua_State *L, const struct node *checked, int given) {
  lua_newtable(L);
  for (const struct node *part = checked->first; part; part = part->next) {
    const char *name = (const char *)part->name.data; /* of the parameter's row */
    bool is_object = node_is_table(part) || part->type == NODE_OTHER;
    if (!is_object || !push_given_object(L, given, name)) push_value(L, part);
    lua_setfield(L, -2, name);
  }
}

/* A command that may be signed is written later, as a body or as a signed message. The request keeps its
 * checked arguments until then. */
static void defer_writing(lua_State *L, struct request *request, int box, int params) {
  struct arguments *a = &request->arguments;
  struct node *checked = take_params(a);
  arguments_check(L, a);
  const struct node *id = node_copy(a->arena, node_text(a->arena, a->id));
  if (!id) luaL_error(L, "out of memory");
  a->id = id->text;
  a->params = checked;
  push_params(L, checked, params);
  lua_setiuservalue(L, box, REQUEST_PARAMS);
}

/* Other calls are written now. Writing a value checks it. */
static void write_now(lua_State *L, struct request *request, int box, int params) {
  request->query_follows =
      write_content(&request->arguments, &request->target, &request->body, &request->has_body);
  request_written(L, request);
  if (!params) return;
  lua_pushvalue(L, params);
  lua_setiuservalue(L, box, REQUEST_PARAMS);
}

/* core.plan(row, handle, ...) -> request; mistakes of the caller raise. The order of the steps is the public
 * order of errors: a caller with two mistakes gets the one of the earlier step. */
static int l_plan(lua_State *L) {
  enum { ROW = 1, HANDLE = 2, FIRST = 3 };
  const struct row *row = row_at(L, ROW);
  const char *kind = handle_kind(L, HANDLE);
  int behind = lua_gettop(L) + 1, box = behind;
  struct request *request = request_new(L, row);
  struct arguments *a = request_arguments(L, request);

  /* 1. The handle. */
  if (!kind || strcmp(kind, row->handle) != 0) {
    mistake(a, "call it with a colon, on a %s", row->handle);
    arguments_check(L, a);
  }
  handle_push_id(L, HANDLE);
  if (!lua_isnil(L, -1)) a->id = check_bytes(L, -1);

  /* 2. The path. That of a command is checked when it is written. */
  int next = take_path(L, a, FIRST, behind);
  if (!row->message) write_path(a, &request->target);
  arguments_check(L, a);

  /* 3. The types and the number of the other arguments. */
  int params = 0;
  if (takes_params(row))
    params = table_of_params(L, a, next++, behind);
  else if (is_empty_params(L, a, next, behind))
    next++;
  int options = optional_table(L, a, next++, behind, "the options");
  for (; next < behind; next++)
    if (!lua_isnil(L, next)) mistake(a, "too many arguments");
  arguments_check(L, a);

  /* 4. Names of parameters, then options. */
  if (params) arguments_params(L, params, a);
  if (options) arguments_options(L, options, a);
  check_params(a);
  read_call_options(a, &request->options);
  arguments_check(L, a);
  a->force = request->options.force;

  /* 5. Values of parameters. */
  if (row->message)
    defer_writing(L, request, box, params);
  else
    write_now(L, request, box, params);
  lua_settop(L, box);
  return 1;
}

/* core.row_options(row) -> the names of the options that have an effect on its calls */
static int l_row_options(lua_State *L) {
  const struct row *row = row_at(L, 1);
  lua_newtable(L);
  for (const struct option *o = call_option_rows; o->name; o++) {
    if (!option_concerns(o, row)) continue;
    lua_pushstring(L, o->name);
    list_append(L, -2);
  }
  return 1;
}

/* core.check_id(what, value) -> the id as a string; raises for an invalid one, because it becomes part of an
 * address */
static int l_check_id(lua_State *L) {
  static const char *const kinds[] = {"vehicle", "energy_site", NULL};
  bool vehicle = luaL_checkoption(L, 1, NULL, kinds) == 0;
  const struct param id = {.name = vehicle ? "vin" : "id",
                           .type = vehicle ? TYPE_VIN : TYPE_ID,
                           .min = vehicle ? 0 : 1,
                           .max = vehicle ? 0 : 18446744073709551615.0};
  const struct row row = {.method = vehicle ? "vehicle" : "energy_site"};
  struct arguments a;
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  arguments_boxed(L, &row, &a);
  struct buf *text = push_scratch(L);
  plain_value(&a, &id, arguments_value(L, 2, &a), text);
  arguments_check(L, &a);
  push_buf(L, text);
  return 1;
}

/* core.days(value) -> the mask of days of the week, Sunday = 1; raises for an invalid value */
static int l_days(lua_State *L) {
  static const struct param days = {.name = "days_of_week", .type = TYPE_DAYS};
  static const struct row row = {.method = "days"};
  struct arguments a;
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  arguments_boxed(L, &row, &a);
  unsigned mask = days_value(&a, &days, arguments_value(L, 1, &a));
  arguments_check(L, &a);
  lua_pushinteger(L, mask);
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
