#include "bind/lua/versions.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the wrong Lua ---- */

static bool is_lua_of_build(lua_State *L) {
#if LUA_VERSION_NUM >= 504
  return lua_newuserdatauv && lua_version(L) == LUA_VERSION_NUM;
#elif LUA_VERSION_NUM == 503
  return L && lua_setuservalue && lua_isinteger;
#elif LUA_VERSION_NUM == 502
  return L && lua_setuservalue;
#else
  return L && lua_objlen;
#endif
}

void check_lua(lua_State *L) {
  if (!is_lua_of_build(L))
    luaL_error(L, "fleet is built for " LUA_VERSION
                  " here, and another Lua loads it: build it for that one with make LUA_VERSION=");
}

/* A function's name in parentheses is Lua's own function, not the macro of the same name. */

#if LUA_VERSION_NUM < 503

int compat_absindex(lua_State *L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

/* ---- tables ---- */

int compat_getfield(lua_State *L, int index, const char *name) {
  (lua_getfield)(L, index, name);
  return lua_type(L, -1);
}

int compat_geti(lua_State *L, int index, compat_integer i) {
  index = compat_absindex(L, index);
  lua_pushnumber(L, (lua_Number)i);
  lua_gettable(L, index);
  return lua_type(L, -1);
}

void compat_seti(lua_State *L, int index, compat_integer i) {
  index = compat_absindex(L, index);
  lua_pushnumber(L, (lua_Number)i);
  lua_insert(L, -2);
  lua_settable(L, index);
}

int compat_gettable(lua_State *L, int index) {
  (lua_gettable)(L, index);
  return lua_type(L, -1);
}

int compat_rawget(lua_State *L, int index) {
  (lua_rawget)(L, index);
  return lua_type(L, -1);
}

int compat_rawgeti(lua_State *L, int index, compat_integer i) {
  (lua_rawgeti)(L, index, (int)i);
  return lua_type(L, -1);
}

void compat_rawseti(lua_State *L, int index, compat_integer i) {
  (lua_rawseti)(L, index, (int)i);
}

int compat_rawgetp(lua_State *L, int index, const void *key) {
  index = compat_absindex(L, index);
  lua_pushlightuserdata(L, (void *)(size_t)key);
  return compat_rawget(L, index);
}

void compat_rawsetp(lua_State *L, int index, const void *key) {
  index = compat_absindex(L, index);
  lua_pushlightuserdata(L, (void *)(size_t)key);
  lua_insert(L, -2);
  lua_rawset(L, index);
}

int compat_getmetafield(lua_State *L, int index, const char *name) {
  return (luaL_getmetafield)(L, index, name) ? lua_type(L, -1) : LUA_TNIL;
}

void compat_setfuncs(lua_State *L, const luaL_Reg *functions, int upvalues) {
  luaL_checkstack(L, upvalues + 1, "too many upvalues");
  for (; functions->name; functions++) {
    for (int i = 0; i < upvalues; i++) lua_pushvalue(L, -upvalues);
    lua_pushcclosure(L, functions->func, upvalues);
    lua_setfield(L, -upvalues - 2, functions->name);
  }
  lua_pop(L, upvalues);
}

int compat_newmetatable(lua_State *L, const char *name) {
  if (!(luaL_newmetatable)(L, name)) return 0;
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  return 1;
}

void compat_setmetatable(lua_State *L, const char *name) {
  luaL_getmetatable(L, name);
  lua_setmetatable(L, -2);
}

void *compat_testudata(lua_State *L, int index, const char *name) {
  void *data = lua_touserdata(L, index);
  if (!data || !lua_getmetatable(L, index)) return NULL;
  luaL_getmetatable(L, name);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? data : NULL;
}

/* ---- integers ---- */

static const lua_Number exact_limit = 9007199254740992.0; /* 2^53: from it on neighbours look the same */

static bool is_exact(lua_Number value) {
  return value == floor(value) && fabs(value) < exact_limit;
}

size_t compat_rawlen(lua_State *L, int index) {
#if LUA_VERSION_NUM == 501
  return lua_objlen(L, index);
#else
  return (lua_rawlen)(L, index);
#endif
}

int compat_isinteger(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TNUMBER) return 0;
  lua_Number value = lua_tonumber(L, index);
  return is_exact(value) && !(value == 0 && signbit(value));
}

void compat_pushinteger(lua_State *L, compat_integer value) {
  char text[24];
  if (is_exact((lua_Number)value)) return lua_pushnumber(L, (lua_Number)value);
  snprintf(text, sizeof text, "%lld", value);
  lua_pushstring(L, text);
}

static bool integer_of_text(const char *text, compat_integer *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == 0;
}

static bool integer_at(lua_State *L, int index, compat_integer *value) {
  *value = 0;
  if (lua_type(L, index) == LUA_TSTRING && integer_of_text(lua_tostring(L, index), value)) return true;
  lua_Number number = lua_tonumber(L, index);
  if (!lua_isnumber(L, index) || !is_exact(number)) return false;
  *value = (compat_integer)number;
  return true;
}

compat_integer compat_tointegerx(lua_State *L, int index, int *whole) {
  compat_integer value;
  bool is_whole = integer_at(L, index, &value);
  if (whole) *whole = is_whole;
  return is_whole ? value : 0;
}

compat_integer compat_checkinteger(lua_State *L, int argument) {
  compat_integer value;
  if (integer_at(L, argument, &value)) return value;
  if (lua_isnumber(L, argument)) luaL_argerror(L, argument, "number has no integer representation");
  luaL_typeerror(L, argument, "number");
  return 0;
}

compat_integer compat_optinteger(lua_State *L, int argument, compat_integer fallback) {
  return lua_isnoneornil(L, argument) ? fallback : compat_checkinteger(L, argument);
}

compat_integer compat_len(lua_State *L, int index) {
  if (!luaL_callmeta(L, index, "__len")) return (compat_integer)compat_rawlen(L, index);
  compat_integer size;
  if (!integer_at(L, -1, &size)) luaL_error(L, "object length is not an integer");
  lua_pop(L, 1);
  return size;
}

/* ---- text ---- */

/* Before 5.3 an integer of more than fourteen digits would lose the last ones. */
static void push_number_text(lua_State *L, lua_Number value) {
  char text[40];
  snprintf(text, sizeof text, is_exact(value) ? "%.0f" : "%.14g", value);
  lua_pushstring(L, text);
}

static void make_text(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TNUMBER) return;
  index = compat_absindex(L, index);
  push_number_text(L, lua_tonumber(L, index));
  lua_replace(L, index);
}

const char *compat_tolstring(lua_State *L, int index, size_t *size) {
  make_text(L, index);
  return (lua_tolstring)(L, index, size);
}

const char *compat_checklstring(lua_State *L, int argument, size_t *size) {
  make_text(L, argument);
  return (luaL_checklstring)(L, argument, size);
}

const char *compat_optlstring(lua_State *L, int argument, const char *fallback, size_t *size) {
  make_text(L, argument);
  return (luaL_optlstring)(L, argument, fallback, size);
}

static void push_plain_text(lua_State *L, int index) {
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    return push_number_text(L, lua_tonumber(L, index));
  case LUA_TSTRING:
    return lua_pushvalue(L, index);
  case LUA_TBOOLEAN:
    return lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
  case LUA_TNIL:
    return lua_pushstring(L, "nil");
  }
  lua_pushfstring(L, "%s: %p", luaL_typename(L, index), lua_topointer(L, index));
}

const char *compat_push_text(lua_State *L, int index, size_t *size) {
  index = compat_absindex(L, index);
  if (!luaL_callmeta(L, index, "__tostring")) push_plain_text(L, index);
  if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "'__tostring' must return a string");
  return (lua_tolstring)(L, -1, size);
}

#endif

#if LUA_VERSION_NUM < 504

/* ---- user values ---- */

#if LUA_VERSION_NUM == 501
#define set_user_value lua_setfenv
#define get_user_value lua_getfenv
#else
#define set_user_value lua_setuservalue
#define get_user_value lua_getuservalue
#endif

void *compat_newuserdatauv(lua_State *L, size_t size, int user_values) {
  void *data = lua_newuserdata(L, size);
  if (user_values > 0) {
    lua_createtable(L, user_values, 0);
    set_user_value(L, -2);
  }
  return data;
}

int compat_getiuservalue(lua_State *L, int index, int n) {
  get_user_value(L, index);
  lua_rawgeti(L, -1, n);
  lua_remove(L, -2);
  return lua_type(L, -1);
}

int compat_setiuservalue(lua_State *L, int index, int n) {
  get_user_value(L, index);
  lua_insert(L, -2);
  lua_rawseti(L, -2, n);
  lua_pop(L, 1);
  return 1;
}

/* ---- errors ---- */

int compat_typeerror(lua_State *L, int argument, const char *expected) {
  const char *given = luaL_typename(L, argument);
  if (luaL_getmetafield(L, argument, "__name") == LUA_TSTRING)
    given = lua_tostring(L, -1);
  else if (lua_type(L, argument) == LUA_TLIGHTUSERDATA)
    given = "light userdata";
  luaL_argerror(L, argument, lua_pushfstring(L, "%s expected, got %s", expected, given));
  abort(); /* never reached: the error was raised */
}

#endif
