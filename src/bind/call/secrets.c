/* Which texts of a call are secrets (rule R4): base/redact.c takes them out of what an err, a log or raw text
 * says. */
#include "bind/lua/bind.h"

enum { CALL = 1, LIST = 2 }; /* places on the stack */

/* Appends the value on top of the stack, which is popped, where it is a text. */
static void add_top(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING)
    list_append(L, LIST);
  else
    lua_pop(L, 1);
}

/* The members of the table on top of the stack. */
static void add_members(lua_State *L, const char *const *name) {
  int table = lua_gettop(L);
  for (; lua_istable(L, table) && *name; name++) lua_getfield(L, table, *name), add_top(L);
}

/* Pushes the member of the table on top of the stack; nil where that is no table. */
static void push_member(lua_State *L, const char *name) {
  if (lua_istable(L, -1))
    lua_getfield(L, -1, name);
  else
    lua_pushnil(L);
}

/* The parameters that no log may show. A request that was made from bytes has none. */
static void add_parameters(lua_State *L) {
  enum { PARAMS = LIST + 2, SECRETS = LIST + 4 };
  lua_getfield(L, CALL, "request");
  if (!lua_toboolean(L, -1)) return;
  lua_getfield(L, -1, "params"), lua_pushvalue(L, -2);
  lua_call(L, 1, 1);
  lua_getfield(L, CALL, "row"), push_member(L, "secrets");
  if (!lua_istable(L, PARAMS) || !lua_istable(L, SECRETS)) return;
  for (lua_pushnil(L); lua_next(L, SECRETS);) {
    lua_pop(L, 1), lua_pushvalue(L, -1);
    lua_gettable(L, PARAMS), add_top(L);
  }
}

/* core.call_secrets(call) -> list: its secret parameters, its tokens, the account's secrets */
static int l_call_secrets(lua_State *L) {
  static const char *const of_account[] = {"token", "client_secret", "store_key", NULL};
  static const char *const of_call[] = {"token", "rejected", NULL};
  luaL_checktype(L, CALL, LUA_TTABLE);
  lua_settop(L, CALL);
  lua_newtable(L);
  add_parameters(L), lua_settop(L, LIST);
  lua_getfield(L, CALL, "context"), push_member(L, "config");
  add_members(L, of_account), lua_settop(L, LIST);
  lua_pushvalue(L, CALL);
  add_members(L, of_call), lua_settop(L, LIST);
  return 1;
}

void open_secrets(lua_State *L) {
  lua_pushcfunction(L, l_call_secrets);
  lua_setfield(L, -2, "call_secrets");
}
