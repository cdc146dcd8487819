/* The arguments of a store's methods, checked before any store sees them: what a store is given is right. */
#include "bind/lua/bind.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { KEY = 1, VALUE = 2, OPTIONS = 3 }; /* places on the stack */
enum { KEY_MOST = 512, COUNTER_MOST = 128 };

/* Raises "bad argument #2 to 'put': …". */
static int bad(lua_State *L, const char *method, int position, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = lua_pushvfstring(L, format, args);
  va_end(args);
  return usage_error(L, "bad argument #%d to '%s': %s", position, method, text);
}

static bool is_control(unsigned char byte) {
  return byte < 0x20 || byte == 0x7f;
}

static void check_key(lua_State *L, const char *method) {
  if (lua_type(L, KEY) != LUA_TSTRING)
    bad(L, method, KEY, "a key (string) expected, got %s", luaL_typename(L, KEY));
  struct bytes key = check_bytes(L, KEY);
  bool sound = key.size > 0 && key.size <= KEY_MOST;
  for (size_t i = 0; sound && i < key.size; i++) sound = !is_control(key.data[i]);
  if (!sound) bad(L, method, KEY, "a key is 1 to 512 bytes without control characters");
}

static bool is_count(lua_State *L, int index) {
  double n = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
  return isfinite(n) && n >= 0;
}

static void check_count(lua_State *L, const char *method, const char *what) {
  if (!is_count(L, VALUE)) bad(L, method, VALUE, "%s expected", what);
}

static bool is_text(lua_State *L, int index, const char *text) {
  return lua_type(L, index) == LUA_TSTRING && bytes_equal(check_bytes(L, index), bytes_of(text));
}

/* An address is given whole. */
static bool is_redis(const char *text) {
  static const char *const schemes[] = {"redis:", "rediss:", "redis+unix:"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) return true;
  return false;
}

/* core.store_place(text) -> the store's name, and where it is; one in memory is nowhere */
static int l_place(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  const char *start = (const char *)text.data;
  size_t name = strspn(start, "abcdefghijklmnopqrstuvwxyz");
  bool named = name > 0 && start[name] == ':' && text.size > name + 1;
  lua_settop(L, 1);
  if (bytes_equal(text, bytes_of("memory"))) return 1;
  if (named && !is_redis(start)) {
    lua_pushlstring(L, start, name);
    lua_pushlstring(L, start + name + 1, text.size - name - 1);
    return 2;
  }
  lua_pushstring(L, is_redis(start) ? "redis" : "file");
  lua_insert(L, 1);
  return 2;
}

/* store_checks.get(key) */
static int l_get(lua_State *L) {
  check_key(L, "get");
  return 0;
}

/* ---- put ---- */

static const struct {
  const char *name;
  int type;
} put_options[] = {{"generation", LUA_TNUMBER}, {"durable", LUA_TBOOLEAN}, {"behind", LUA_TBOOLEAN},
                   {"ttl", LUA_TNUMBER},        {"ticket", LUA_TTABLE},    {"lease", LUA_TTABLE}};

enum { PUT_OPTIONS = sizeof put_options / sizeof *put_options };

static void check_put_option(lua_State *L, int name, int value) {
  size_t i = 0;
  while (i < PUT_OPTIONS && !is_text(L, name, put_options[i].name)) i++;
  if (i == PUT_OPTIONS)
    bad(L, "put", OPTIONS, "unknown option '%s'", luaL_tolstring(L, name, NULL));
  else if (lua_type(L, value) != put_options[i].type)
    bad(L, "put", OPTIONS, "option '%s' must be a %s", put_options[i].name,
        lua_typename(L, put_options[i].type));
}

/* A lease or a ticket is good for its own key only. */
static void check_owner(lua_State *L, const char *name) {
  if (lua_getfield(L, OPTIONS, name) == LUA_TTABLE) {
    lua_getfield(L, -1, "key");
    if (!lua_rawequal(L, -1, KEY)) bad(L, "put", OPTIONS, "the %s is of another key", name);
  }
  lua_settop(L, OPTIONS);
}

/* store_checks.put(key, value, options) */
static int l_put(lua_State *L) {
  lua_settop(L, OPTIONS);
  check_key(L, "put");
  if (lua_type(L, VALUE) != LUA_TSTRING)
    bad(L, "put", VALUE, "a value (string) expected, got %s", luaL_typename(L, VALUE));
  if (lua_isnil(L, OPTIONS)) return 0;
  if (!lua_istable(L, OPTIONS)) bad(L, "put", OPTIONS, "a table of options expected");
  for (lua_pushnil(L); lua_next(L, OPTIONS); lua_pop(L, 1)) check_put_option(L, OPTIONS + 1, OPTIONS + 2);
  check_owner(L, "lease");
  check_owner(L, "ticket");
  return 0;
}

/* ---- counters and turns ---- */

static bool is_counter_name(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return false;
  struct bytes name = check_bytes(L, index);
  bool sound = name.size > 0 && name.size <= COUNTER_MOST;
  for (size_t i = 0; sound && i < name.size; i++) sound = !is_control(name.data[i]) && name.data[i] != ' ';
  return sound;
}

static void check_amount(lua_State *L, int name, int amount) {
  double n = lua_type(L, amount) == LUA_TNUMBER ? lua_tonumber(L, amount) : NAN;
  if (!is_counter_name(L, name)) bad(L, "add", VALUE, "a counter's name is 1 to 128 bytes without spaces");
  if (!(fabs(n) <= 9e15) || floor(n) != n)
    bad(L, "add", VALUE, "the amount of '%s' must be a whole number", lua_tostring(L, name));
}

static void check_add_option(lua_State *L, int name, int value) {
  if (!is_text(L, name, "ttl")) bad(L, "add", OPTIONS, "unknown option '%s'", luaL_tolstring(L, name, NULL));
  if (!is_count(L, value)) bad(L, "add", OPTIONS, "option 'ttl': seconds expected");
}

/* store_checks.add(key, amounts, options) */
static int l_add(lua_State *L) {
  lua_settop(L, OPTIONS);
  check_key(L, "add");
  if (!lua_istable(L, VALUE))
    bad(L, "add", VALUE, "a table of amounts expected, got %s", luaL_typename(L, VALUE));
  for (lua_pushnil(L); lua_next(L, VALUE); lua_pop(L, 1)) check_amount(L, OPTIONS + 1, OPTIONS + 2);
  if (lua_isnil(L, OPTIONS)) return 0;
  if (!lua_istable(L, OPTIONS)) bad(L, "add", OPTIONS, "a table of options expected");
  for (lua_pushnil(L); lua_next(L, OPTIONS); lua_pop(L, 1)) check_add_option(L, OPTIONS + 1, OPTIONS + 2);
  return 0;
}

static void check_turn_member(lua_State *L, int name, int value) {
  static const char *const members[] = {"most", "now", "within", "rest", "named"};
  size_t count = sizeof members / sizeof *members, i = 0;
  while (i < count && !is_text(L, name, members[i])) i++;
  if (i == count) bad(L, "turn", VALUE, "unknown member '%s'", luaL_tolstring(L, name, NULL));
  if (!is_count(L, value)) bad(L, "turn", VALUE, "member '%s': a number from 0 on expected", members[i]);
}

static bool has(lua_State *L, const char *name) {
  bool given = lua_getfield(L, VALUE, name) != LUA_TNIL;
  lua_pop(L, 1);
  return given;
}

static bool is_above_zero(lua_State *L, const char *name) {
  lua_getfield(L, VALUE, name);
  bool above = lua_tonumber(L, -1) > 0;
  lua_pop(L, 1);
  return above;
}

/* store_checks.turn(key, step) */
static int l_turn(lua_State *L) {
  lua_settop(L, VALUE);
  check_key(L, "turn");
  if (!lua_istable(L, VALUE)) bad(L, "turn", VALUE, "a table expected, got %s", luaL_typename(L, VALUE));
  for (lua_pushnil(L); lua_next(L, VALUE); lua_pop(L, 1)) check_turn_member(L, VALUE + 1, VALUE + 2);
  if (!has(L, "now") || !is_above_zero(L, "most") || !(has(L, "within") || has(L, "rest")))
    bad(L, "turn", VALUE, "most above 0, now, and within or rest expected");
  return 0;
}

/* ---- the others ---- */

/* store_checks.delete(key, generation) */
static int l_delete(lua_State *L) {
  check_key(L, "delete");
  if (!lua_isnoneornil(L, VALUE)) check_count(L, "delete", "a generation");
  return 0;
}

/* store_checks.reserve(key, bytes) */
static int l_reserve(lua_State *L) {
  check_key(L, "reserve");
  check_count(L, "reserve", "a number of bytes");
  return 0;
}

/* store_checks.lease(key, ttl) */
static int l_lease(lua_State *L) {
  check_key(L, "lease");
  check_count(L, "lease", "seconds");
  return 0;
}

void open_arguments(lua_State *L) {
  static const luaL_Reg functions[] = {{"get", l_get},     {"put", l_put},       {"add", l_add},
                                       {"turn", l_turn},   {"delete", l_delete}, {"reserve", l_reserve},
                                       {"lease", l_lease}, {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "store_checks");
  lua_pushcfunction(L, l_place);
  lua_setfield(L, -2, "store_place");
}
