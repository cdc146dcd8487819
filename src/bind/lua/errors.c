#include "bind/lua/bind.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* ---- returned errors ---- */

/* Where a failure was raised, its line comes first: a script that does not catch it shows nothing else. */
static int l_err_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "where");
  lua_getfield(L, 1, "message");
  if (lua_type(L, -1) != LUA_TSTRING) lua_pushliteral(L, "fleet.err");
  if (lua_type(L, 2) == LUA_TSTRING) lua_pushfstring(L, "%s: %s", lua_tostring(L, 2), lua_tostring(L, -1));
  return 1;
}

/* text .. err, err .. text */
static int l_err_concat(lua_State *L) {
  lua_settop(L, 2);
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* err.help: the command that explains its kind. */
static int l_err_index(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (lua_type(L, 1) != LUA_TTABLE || strcmp(name, "help") != 0) return 0;
  lua_getfield(L, 1, "kind");
  if (lua_type(L, -1) != LUA_TSTRING) return 0;
  lua_pushfstring(L, "fleet explain %s", lua_tostring(L, -1));
  return 1;
}

static void push_err_metatable(lua_State *L) {
  if (!luaL_newmetatable(L, "fleet.err")) return;
  lua_pushcfunction(L, l_err_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, l_err_concat);
  lua_setfield(L, -2, "__concat");
  lua_pushcfunction(L, l_err_index);
  lua_setfield(L, -2, "__index");
}

void push_err(lua_State *L, const struct err *e) {
  lua_createtable(L, 0, 8);
  set_text(L, "kind", kind_name(e->kind));
  set_text(L, "message", e->message[0] ? e->message : kind_name(e->kind));
  if (e->status) set_integer(L, "status", e->status);
  if (e->fault) set_integer(L, "fault", e->fault);
  if (e->retry_after > 0) lua_pushnumber(L, e->retry_after), lua_setfield(L, -2, "retry_after");
  if (e->reason[0]) set_text(L, "reason", e->reason);
  if (e->outcome) set_text(L, "outcome", outcome_name(e->outcome));
  push_err_metatable(L);
  lua_setmetatable(L, -2);
}

int push_failure(lua_State *L, const struct err *e) {
  lua_pushnil(L);
  push_err(L, e);
  lua_pushstring(L, kind_name(e->kind));
  return 3;
}

/* core.err{ kind =, message =, outcome =, reason =, status =, retry_after =, ... } -> err with those
 * members */
static int l_err(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "kind");
  if (kind_of(luaL_checkstring(L, -1)) == KIND_none) return luaL_error(L, "unknown error kind");
  lua_settop(L, 1);
  push_err_metatable(L);
  lua_setmetatable(L, 1);
  return 1;
}

/* ---- raised errors ---- */

static char library_key;

/* core.library(prefix): the sources of this library's Lua files begin with it */
static int l_library(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &library_key);
  return 0;
}

/* Pushes "file:line", or "" where no code of the caller's is on this stack (a task that the library
 * started). */
static void push_place(lua_State *L) {
  lua_Debug frame;
  size_t size = 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &library_key);
  const char *library = lua_tolstring(L, -1, &size);
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0 || (library && strncmp(frame.source, library, size) == 0)) continue;
    lua_pushfstring(L, "%s:%d", frame.short_src, frame.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pushliteral(L, "");
  lua_remove(L, -2);
}

static bool begins(const char *text, const char *with, size_t size) {
  return strncmp(text, with, size) == 0;
}

/* core.is_inside(coroutine, room) -> whether a function of the caller's yielded (the host's HTTP, a store, a
 * listener) that one of the library's files outside of this room called */
static int l_is_inside(lua_State *L) {
  lua_Debug frame;
  size_t size = 0, room_size = 0;
  luaL_checktype(L, 1, LUA_TTHREAD);
  lua_State *coroutine = lua_tothread(L, 1);
  const char *room = luaL_checklstring(L, 2, &room_size);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &library_key);
  const char *library = lua_tolstring(L, -1, &size);
  bool inside = false;
  for (int level = 0; library && !inside && lua_getstack(coroutine, level, &frame); level++) {
    lua_getinfo(coroutine, "S", &frame);
    inside = begins(frame.source, library, size) && !begins(frame.source + size, room, room_size);
  }
  lua_pushboolean(L, inside);
  return 1;
}

/* Raises the text on top of the stack. */
static int raise_text(lua_State *L) {
  push_place(L);
  if (lua_rawlen(L, -1)) {
    lua_pushfstring(L, "%s: %s", lua_tostring(L, -1), lua_tostring(L, -2));
    return lua_error(L);
  }
  lua_pop(L, 1);
  return lua_error(L);
}

int usage_error(lua_State *L, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  return raise_text(L);
}

void expect_type(lua_State *L, int index, int type, const char *what) {
  bool fits = lua_type(L, index) == type || (type == LUA_TSTRING && lua_type(L, index) == LUA_TNUMBER);
  if (!fits) usage_error(L, "%s expected, got %s", what, luaL_typename(L, index));
}

/* core.usage(text): raises it with the caller's line */
static int l_usage(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  return raise_text(L);
}

/* core.place() -> "file:line" of the caller's own code, or "" */
static int l_place(lua_State *L) {
  push_place(L);
  return 1;
}

void open_errors(lua_State *L) {
  static const luaL_Reg functions[] = {{"err", l_err},     {"library", l_library},     {"usage", l_usage},
                                       {"place", l_place}, {"is_inside", l_is_inside}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
