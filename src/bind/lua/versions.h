/* The interface of Lua 5.4 for every Lua from 5.1 to 5.5 and for LuaJIT. This file and versions.c hide the
 * differences, so that no other file depends on the version. */
#ifndef FLEET_BIND_VERSIONS_H
#define FLEET_BIND_VERSIONS_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "bind/lua/weak.h"

/* Raises unless the Lua that runs is the one of the build; every opener calls it first, as
 * luaL_checkversion. */
void check_lua(lua_State *L);
#undef luaL_checkversion
#define luaL_checkversion check_lua

#if LUA_VERSION_NUM >= 505
#define lua_newstate(allocate, data) lua_newstate((allocate), (data), 0) /* the seed */
#endif

#if LUA_VERSION_NUM < 504

/* The user values are in one preallocated table: setting one takes no memory. */
void *compat_newuserdatauv(lua_State *L, size_t size, int user_values);
int compat_getiuservalue(lua_State *L, int index, int n);
int compat_setiuservalue(lua_State *L, int index, int n);
__attribute__((noreturn)) int compat_typeerror(lua_State *L, int argument, const char *expected);

#define lua_newuserdatauv compat_newuserdatauv
#define lua_getiuservalue compat_getiuservalue
#define lua_setiuservalue compat_setiuservalue
#define luaL_typeerror compat_typeerror
#define luaL_argexpected(L, holds, i, name) ((void)((holds) || luaL_typeerror((L), (i), (name))))
#ifndef LUAI_MAXALIGN
#define LUAI_MAXALIGN                                                                                        \
  lua_Number n;                                                                                              \
  double u;                                                                                                  \
  void *s;                                                                                                   \
  long long i;                                                                                               \
  long l
#endif
#endif

#if LUA_VERSION_NUM < 503
#include "bind/lua/before_5_3.h"
#endif

#if LUA_VERSION_NUM == 501
typedef struct {
  FILE *f;
} luaL_Stream;
#endif

#endif
