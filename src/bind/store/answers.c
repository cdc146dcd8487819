/* A store of the caller's is never believed: what it answers is of the kind that the contract promises, or it
 * is a failure of the store.
 */
#include "bind/lua/bind.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { METHOD = 1, GIVEN, RAN, VALUE, MORE, KIND, PLACES = KIND }; /* places on the stack */

static const char *method_of(lua_State *L) {
  return luaL_checkstring(L, METHOD);
}

/* ---- what it said instead ---- */

static int failure(lua_State *L, enum kind kind, const char *format, ...) {
  struct err e;
  err_clear(&e);
  va_list args;
  va_start(args, format);
  const char *text = lua_pushvfstring(L, format, args);
  va_end(args);
  err_set(&e, kind, "the store's '%s' %s", method_of(L), text);
  return push_failure(L, &e);
}

/* The length of "file:line:" at the beginning of a text, or 0. */
static size_t place_in(const char *text) {
  for (const char *at = text; *at && *at != '\n'; at++) {
    size_t digits = at[0] == ':' ? strspn(at + 1, "0123456789") : 0;
    if (digits && at[1 + digits] == ':') return (size_t)(at - text) + digits + 2;
  }
  return 0;
}

static bool has_kind(lua_State *L, int index) {
  bool found = lua_istable(L, index) && lua_getfield(L, index, "kind") != LUA_TNIL && lua_toboolean(L, -1);
  lua_settop(L, PLACES);
  return found;
}

/* A task that was cancelled ends. A raised text may quote what was to be stored. */
static int raised(lua_State *L) {
  if (has_kind(L, VALUE)) {
    lua_getfield(L, VALUE, "kind");
    if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "cancelled") == 0)
      return lua_settop(L, VALUE), lua_error(L);
  }
  const char *text = luaL_tolstring(L, VALUE, NULL);
  size_t shown = strcmp(method_of(L), "put") == 0 ? place_in(text) : strlen(text);
  lua_pushlstring(L, text, shown);
  return failure(L, KIND_store, "raised an error: %s", lua_tostring(L, -1));
}

/* An err of its own is passed on. */
static int refused(lua_State *L) {
  if (!has_kind(L, MORE)) {
    enum kind kind = lua_type(L, KIND) == LUA_TSTRING ? kind_of(lua_tostring(L, KIND)) : KIND_none;
    return failure(L, kind ? kind : KIND_store, "failed: %s", luaL_tolstring(L, MORE, NULL));
  }
  lua_pushnil(L);
  lua_pushvalue(L, MORE);
  if (lua_toboolean(L, KIND))
    lua_pushvalue(L, KIND);
  else
    lua_getfield(L, MORE, "kind");
  return 3;
}

static int wrong(lua_State *L, int index, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *expected = lua_pushvfstring(L, format, args);
  va_end(args);
  return failure(L, KIND_store, "returned a %s: %s expected", luaL_typename(L, index), expected);
}

/* ---- what it may say ---- */

static bool is_finite(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER && isfinite(lua_tonumber(L, index));
}

static int answer_get(lua_State *L) {
  bool no_number = lua_isnil(L, MORE) || (lua_type(L, MORE) == LUA_TNUMBER && lua_tonumber(L, MORE) == 0);
  if (lua_isnil(L, VALUE) && no_number) {
    lua_pushinteger(L, 0);
    lua_replace(L, MORE);
    return lua_settop(L, MORE), 2;
  }
  if (lua_isnil(L, VALUE)) return refused(L);
  if (lua_type(L, VALUE) != LUA_TSTRING) return wrong(L, VALUE, "a string or nil");
  if (!is_finite(L, MORE)) return wrong(L, MORE, "a generation (number) after the value");
  return lua_settop(L, MORE), 2;
}

static int answer_put(lua_State *L) {
  if (lua_isnil(L, VALUE)) return refused(L);
  if (!is_finite(L, VALUE)) return wrong(L, VALUE, "a generation (number)");
  return lua_settop(L, VALUE), 1;
}

/* The total of every name in GIVEN. */
static int answer_add(lua_State *L) {
  if (lua_isnil(L, VALUE)) return refused(L);
  if (!lua_istable(L, VALUE)) return wrong(L, VALUE, "a table of totals");
  for (lua_pushnil(L); lua_next(L, GIVEN); lua_settop(L, PLACES + 1)) {
    lua_pushvalue(L, PLACES + 1);
    lua_gettable(L, VALUE);
    if (!is_finite(L, -1)) return wrong(L, VALUE, "the total of '%s'", lua_tostring(L, PLACES + 1));
  }
  return lua_settop(L, VALUE), 1;
}

static int answer_done(lua_State *L) {
  if (!lua_toboolean(L, VALUE)) return refused(L);
  lua_pushboolean(L, true);
  return 1;
}

static int answer_release(lua_State *L) {
  if (!lua_toboolean(L, VALUE) && !lua_isnil(L, MORE)) return refused(L);
  lua_pushboolean(L, true);
  return 1;
}

static int answer_close(lua_State *L) {
  lua_pushboolean(L, true);
  return 1;
}

static int answer_due(lua_State *L) {
  if (lua_type(L, VALUE) != LUA_TNUMBER) return 0;
  return lua_settop(L, VALUE), 1;
}

/* Decoders of JSON give a light userdata for null, which has no members. */
static bool is_object(lua_State *L, int index) {
  if (lua_istable(L, index)) return true;
  bool has_members = lua_isuserdata(L, index) && luaL_getmetafield(L, index, "__index") != LUA_TNIL;
  if (has_members) lua_pop(L, 1);
  return has_members;
}

static int member_type(lua_State *L, int index, const char *name) {
  int type = lua_getfield(L, index, name);
  lua_pop(L, 1);
  return type;
}

/* An object with these functions; the list ends with NULL. */
static int answer_object(lua_State *L, const char *what, const char *const *names, bool fence) {
  if (lua_isnil(L, VALUE)) return refused(L);
  if (!is_object(L, VALUE)) return wrong(L, VALUE, "%s", what);
  for (; *names; names++)
    if (member_type(L, VALUE, *names) != LUA_TFUNCTION)
      return wrong(L, VALUE, "%s with the function '%s'", what, *names);
  if (fence && !(lua_getfield(L, VALUE, "fence") == LUA_TNUMBER && is_finite(L, -1)))
    return wrong(L, VALUE, "a lease with the number 'fence'");
  return lua_settop(L, VALUE), 1;
}

static int answer_reserve(lua_State *L) {
  static const char *const functions[] = {"close", NULL};
  return answer_object(L, "a ticket", functions, false);
}

static int answer_lease(lua_State *L) {
  static const char *const functions[] = {"renew", "release", NULL};
  return answer_object(L, "a lease", functions, true);
}

enum presence { NEEDED, OPTIONAL, WITHIN /* of a lease or a ticket */ };

static const struct {
  const char *method;
  enum presence presence;
  int (*answer)(lua_State *L);
} rows[] = {
    {"get", NEEDED, answer_get},         {"put", NEEDED, answer_put},     {"delete", NEEDED, answer_done},
    {"reserve", NEEDED, answer_reserve}, {"lease", NEEDED, answer_lease}, {"flush", OPTIONAL, answer_done},
    {"due", OPTIONAL, answer_due},       {"add", OPTIONAL, answer_add},   {"renew", WITHIN, answer_done},
    {"release", WITHIN, answer_release}, {"close", WITHIN, answer_close}};

enum { ROWS = sizeof rows / sizeof *rows };

/* core.store_answer(method, second argument, pcall(...)) -> what the method may return, or nil, err, kind */
static int l_store_answer(lua_State *L) {
  size_t i = 0;
  const char *method = method_of(L);
  lua_settop(L, PLACES);
  while (i < ROWS && strcmp(rows[i].method, method) != 0) i++;
  luaL_argcheck(L, i < ROWS, METHOD, "no method of a store");
  if (lua_toboolean(L, RAN)) return rows[i].answer(L);
  raised(L);
  return strcmp(method, "close") == 0 ? answer_close(L) : strcmp(method, "due") == 0 ? 0 : 3;
}

/* core.store_check(value): raises where it cannot serve as a store */
static int l_store_check(lua_State *L) {
  luaL_checkany(L, 1);
  if (!is_object(L, 1))
    return usage_error(L, "bad option 'store': a store expected, got %s", luaL_typename(L, 1));
  for (size_t i = 0; i < ROWS && rows[i].presence != WITHIN; i++) {
    int type = member_type(L, 1, rows[i].method);
    if (rows[i].presence == NEEDED && type != LUA_TFUNCTION)
      return usage_error(L, "bad option 'store': it has no function '%s'", rows[i].method);
    if (type != LUA_TNIL && type != LUA_TFUNCTION)
      return usage_error(L, "bad option 'store': its '%s' is no function", rows[i].method);
  }
  return 0;
}

void open_answers(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"store_answer", l_store_answer}, {"store_check", l_store_check}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
