/* The interface of Lua 5.4 for 5.1, LuaJIT and 5.2 (versions.h).
 *
 * Numbers of these versions are doubles. lua_Integer has 64 bits here nevertheless: an integer that a double
 * cannot hold is pushed and read as decimal text.
 */
#ifndef FLEET_BIND_BEFORE_5_3_H
#define FLEET_BIND_BEFORE_5_3_H

#undef luaL_newlib
#undef luaL_optinteger
#undef lua_pushliteral

typedef long long compat_integer;

int compat_absindex(lua_State *L, int index);
size_t compat_rawlen(lua_State *L, int index);

int compat_getfield(lua_State *L, int index, const char *name);
int compat_geti(lua_State *L, int index, compat_integer i);
void compat_seti(lua_State *L, int index, compat_integer i);
int compat_gettable(lua_State *L, int index);
int compat_rawget(lua_State *L, int index);
int compat_rawgeti(lua_State *L, int index, compat_integer i);
void compat_rawseti(lua_State *L, int index, compat_integer i);
int compat_rawgetp(lua_State *L, int index, const void *key);
void compat_rawsetp(lua_State *L, int index, const void *key);
int compat_getmetafield(lua_State *L, int index, const char *name);

void compat_pushinteger(lua_State *L, compat_integer value);
int compat_isinteger(lua_State *L, int index);
compat_integer compat_tointegerx(lua_State *L, int index, int *whole);
compat_integer compat_checkinteger(lua_State *L, int argument);
compat_integer compat_optinteger(lua_State *L, int argument, compat_integer fallback);
compat_integer compat_len(lua_State *L, int index);

const char *compat_tolstring(lua_State *L, int index, size_t *size);
const char *compat_push_text(lua_State *L, int index, size_t *size);
const char *compat_checklstring(lua_State *L, int argument, size_t *size);
const char *compat_optlstring(lua_State *L, int argument, const char *fallback, size_t *size);

void compat_setfuncs(lua_State *L, const luaL_Reg *functions, int upvalues);
int compat_newmetatable(lua_State *L, const char *name);
void compat_setmetatable(lua_State *L, const char *name);
void *compat_testudata(lua_State *L, int index, const char *name);

#define lua_Integer compat_integer
#define lua_absindex compat_absindex
#define lua_rawlen(L, i) compat_rawlen((L), (i))
#define lua_getfield(L, i, k) compat_getfield((L), (i), (k))
#define lua_geti compat_geti
#define lua_seti compat_seti
#define lua_gettable(L, i) compat_gettable((L), (i))
#define lua_rawget(L, i) compat_rawget((L), (i))
#define lua_rawgeti(L, i, n) compat_rawgeti((L), (i), (n))
#define lua_rawseti(L, i, n) compat_rawseti((L), (i), (n))
#define lua_rawgetp compat_rawgetp
#define lua_rawsetp compat_rawsetp
#define luaL_getmetafield(L, i, k) compat_getmetafield((L), (i), (k))
#define lua_pushinteger compat_pushinteger
#define lua_isinteger compat_isinteger
#define lua_tointegerx compat_tointegerx
#define luaL_checkinteger compat_checkinteger
#define luaL_optinteger compat_optinteger
#define luaL_len compat_len
#define lua_tolstring(L, i, n) compat_tolstring((L), (i), (n))
#define luaL_tolstring compat_push_text
#define luaL_checklstring(L, i, n) compat_checklstring((L), (i), (n))
#define luaL_optlstring(L, i, d, n) compat_optlstring((L), (i), (d), (n))
#define luaL_setfuncs compat_setfuncs
#define luaL_newmetatable(L, k) compat_newmetatable((L), (k))
#define luaL_setmetatable compat_setmetatable
#define luaL_testudata compat_testudata
#define lua_tointeger(L, i) compat_tointegerx((L), (i), NULL)
#define lua_pushliteral(L, s) lua_pushlstring((L), "" s, sizeof(s) - 1)
#define luaL_newlib(L, l) (lua_newtable(L), compat_setfuncs((L), (l), 0))
#ifndef LUA_OK
#define LUA_OK 0
#endif

#endif
