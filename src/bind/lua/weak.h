/* Functions that some versions of Lua lack. They are bound weakly: if the wrong Lua loads a build, check_lua
 * can report it in a sentence. Otherwise the loader would stop with the name of a symbol.
 * spec/contract/versions_spec loads every build by every Lua. */
#ifndef FLEET_BIND_WEAK_H
#define FLEET_BIND_WEAK_H

#if LUA_VERSION_NUM == 501
#pragma weak luaL_prepbuffer
#pragma weak lua_call
#pragma weak lua_getfenv
#pragma weak lua_insert
#pragma weak lua_newuserdata
#pragma weak lua_objlen
#pragma weak lua_pcall
#pragma weak lua_remove
#pragma weak lua_replace
#pragma weak lua_setfenv
#pragma weak lua_tonumber
#else
#pragma weak luaL_checkversion_
#pragma weak luaL_len
#pragma weak luaL_prepbuffsize
#pragma weak luaL_setfuncs
#pragma weak luaL_tolstring
#pragma weak lua_absindex
#pragma weak lua_callk
#pragma weak lua_copy
#pragma weak lua_getglobal
#pragma weak lua_geti
#pragma weak lua_isinteger
#pragma weak lua_pcallk
#pragma weak lua_rawgetp
#pragma weak lua_rawlen
#pragma weak lua_rawsetp
#pragma weak lua_rotate
#pragma weak lua_seti
#pragma weak lua_tointegerx
#pragma weak lua_tonumberx
#pragma weak lua_version
#endif

#if LUA_VERSION_NUM >= 504
#pragma weak luaL_typeerror
#pragma weak lua_getiuservalue
#pragma weak lua_newuserdatauv
#pragma weak lua_setiuservalue
#elif LUA_VERSION_NUM > 501
#pragma weak lua_getuservalue
#pragma weak lua_newuserdata
#pragma weak lua_setuservalue
#endif

#endif
