#include "bind/client/options.h"

#include "base/hostname.h"
#include "tables/rows.h"

#include <math.h>
#include <string.h>

enum { OPTIONS_MOST = 64 };

int raise_choice(lua_State *L, const char *option, const char *value, const char *const *names,
                 size_t count) {
  struct buf *sentence = push_scratch(L);
  choice_sentence(sentence, option, value, names, count);
  return usage_error(L, "fleet.new: %s", buf_text(sentence));
}

/* ---- the type ---- */

static int lua_type_of(const struct option *o) {
  switch (o->type) {
  case TYPE_INTEGER:
  case TYPE_NUMBER:
    return LUA_TNUMBER;
  case TYPE_BOOLEAN:
    return LUA_TBOOLEAN;
  case TYPE_STRINGS:
  case TYPE_OBJECT:
    return LUA_TTABLE;
  default:
    return LUA_TSTRING;
  }
}

static bool also_takes(const struct option *o, int type) {
  return (type == LUA_TFUNCTION && o->also & ALSO_FUNCTION) || (type == LUA_TTABLE && o->also & ALSO_TABLE) ||
         (type == LUA_TUSERDATA && o->also & ALSO_OBJECT);
}

static const char *type_word(lua_State *L, const struct option *o) {
  int type = lua_type_of(o);
  if (o->lua_only) return o->also & ALSO_FUNCTION ? "function" : "table";
  return type == LUA_TTABLE ? "list" : lua_typename(L, type);
}

static void check_type(lua_State *L, const struct option *o, int value) {
  int type = lua_type(L, value);
  if ((!o->lua_only && type == lua_type_of(o)) || also_takes(o, type)) return;
  usage_error(L, "fleet.new: option '%s' must be a %s, got %s", o->name, type_word(L, o),
              lua_typename(L, type));
}

/* ---- the value ---- */

static void check_option_text(lua_State *L, const struct option *o, int value) {
  if (lua_type(L, value) != LUA_TSTRING)
    usage_error(L, "fleet.new: option '%s' must be a list of strings", o->name);
  struct bytes text = check_bytes(L, value);
  bool control = false;
  for (size_t i = 0; i < text.size; i++) control = control || text.data[i] < 0x20 || text.data[i] == 0x7f;
  if (control && !(o->also & ALSO_LINES))
    usage_error(L, "fleet.new: option '%s' must not hold control characters", o->name);
}

static void check_option_texts(lua_State *L, const struct option *o, int list) {
  for (lua_Integer i = 1; lua_geti(L, list, i) != LUA_TNIL; i++) {
    check_option_text(L, o, lua_gettop(L));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void check_option_number(lua_State *L, const struct option *o, int value) {
  double n = lua_tonumber(L, value);
  if (o->max != 0 && !(n >= o->min && n <= o->max)) {
    struct buf *range = push_scratch(L);
    buf_format(range, "%.14g to %.14g", o->min, o->max);
    usage_error(L, "fleet.new: option '%s' must be %s, got %s", o->name, buf_text(range),
                luaL_tolstring(L, value, NULL));
  }
  if (o->type == TYPE_INTEGER && floor(n) != n)
    usage_error(L, "fleet.new: option '%s' must be a whole number", o->name);
}

static void check_choice(lua_State *L, const struct option *o, int value) {
  const char *names[CHOICES_MOST], *text = lua_tostring(L, value);
  size_t count = 0;
  for (const struct choice *c = o->choices; c && c->name && count < CHOICES_MOST; c++) {
    if (strcmp(c->name, text) == 0) return;
    names[count++] = c->name;
  }
  if (count) raise_choice(L, o->name, text, names, count);
}

/* A function, or what is called like one. */
static void check_metrics(lua_State *L, int value) {
  if (lua_isfunction(L, value) || luaL_getmetafield(L, value, "__call") != LUA_TNIL) return;
  usage_error(L, "fleet.new: option 'metrics' must be a function, or fleet.metrics.prometheus()");
}

static void check_domain(lua_State *L, int value) {
  struct buf *sentence = push_scratch(L);
  if (domain_sentence(check_bytes(L, value), sentence)) usage_error(L, "fleet.new: %s", buf_text(sentence));
}

static void check_option(lua_State *L, const struct option *o, int value) {
  check_type(L, o, value);
  int type = lua_type(L, value);
  if (type == LUA_TSTRING) check_option_text(L, o, value), check_choice(L, o, value);
  if (type == LUA_TNUMBER) check_option_number(L, o, value);
  if (o->type == TYPE_STRINGS) check_option_texts(L, o, value);
  if (strcmp(o->name, "metrics") == 0) check_metrics(L, value);
  if (strcmp(o->name, "domain") == 0) check_domain(L, value);
  if (strcmp(o->name, "token") == 0 && !lua_rawlen(L, value))
    usage_error(L, "fleet.new: option 'token' is empty: leave it out, or give the access token");
}

/* ---- all of them ---- */

static int unknown_option(lua_State *L, int name) {
  const char *names[OPTIONS_MOST];
  size_t count = 0;
  for (const struct option *o = option_rows; o->name && count < OPTIONS_MOST; o++) names[count++] = o->name;
  struct buf *sentence = push_scratch(L);
  unknown_sentence(sentence, "option", luaL_tolstring(L, name, NULL), names, count);
  return usage_error(L, "fleet.new: %s", buf_text(sentence));
}

static const struct option *option_at(lua_State *L, int name) {
  const struct option *o = option_rows;
  if (lua_type(L, name) != LUA_TSTRING) unknown_option(L, name);
  while (o->name && !bytes_equal(check_bytes(L, name), bytes_of(o->name))) o++;
  if (!o->name) unknown_option(L, name);
  return o;
}

/* Pushes the default of an option, or nil. */
static void push_fallback(lua_State *L, const struct option *o) {
  if (!o->fallback)
    lua_pushnil(L);
  else if (lua_type_of(o) == LUA_TBOOLEAN)
    lua_pushboolean(L, strcmp(o->fallback, "true") == 0);
  else
    lua_pushstring(L, o->fallback);
  if (o->fallback && lua_type_of(o) == LUA_TNUMBER) {
    lua_Number n = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (floor(n) == n)
      lua_pushinteger(L, (lua_Integer)n);
    else
      lua_pushnumber(L, n);
  }
}

/* core.option_defaults() -> { name = value } of the options of fleet.new */
static int l_defaults(lua_State *L) {
  lua_newtable(L);
  for (const struct option *o = option_rows; o->name; o++) {
    push_fallback(L, o);
    lua_setfield(L, -2, o->name);
  }
  return 1;
}

/* core.check_options(options) -> a table of its own with the same members. Raises for a wrong one, naming it.
 */
static int l_check_options(lua_State *L) {
  if (!lua_istable(L, 1))
    return usage_error(L, "fleet.new: a table of options is needed, got %s", luaL_typename(L, 1));
  lua_settop(L, 1);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, 1); lua_settop(L, 3)) {
    check_option(L, option_at(L, 3), 4);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 4);
    lua_settable(L, 2);
  }
  return 1;
}

void open_options(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"check_options", l_check_options}, {"option_defaults", l_defaults}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
