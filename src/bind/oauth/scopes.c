/* Lists of scopes: as the text of a form, and with further ones. */
#include "bind/oauth/oauth.h"

static const char *const usual[] = {"openid", "offline_access", "vehicle_device_data"};

enum { USUAL = sizeof usual / sizeof *usual };

/* Pushes the scope at this place of the list at index. */
static struct bytes push_scope(lua_State *L, int index, lua_Integer place, const char *name) {
  lua_geti(L, index, place);
  if (!lua_isstring(L, -1)) usage_error(L, "bad option '%s': a list of scopes expected", name);
  lua_tolstring(L, -1, NULL);
  return check_bytes(L, lua_gettop(L));
}

void push_scope_text(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  if (lua_isnil(L, index) || lua_type(L, index) == LUA_TSTRING) return lua_pushvalue(L, index);
  if (!lua_istable(L, index)) usage_error(L, "bad option '%s': a list of scopes expected", name);
  lua_Integer count = luaL_len(L, index);
  if (!count) return lua_pushnil(L);
  struct buf *text = push_scratch(L);
  for (lua_Integer i = 1; i <= count; i++) {
    struct bytes scope = push_scope(L, index, i, name);
    if (i > 1) buf_put(text, ' ');
    buf_add(text, scope.data, scope.size);
    lua_pop(L, 1);
  }
  push_buf(L, text);
  lua_remove(L, -2);
}

/* core.scope_text(list, text or nil, name of the option) -> text, nil for none; raises for anything else */
static int l_scope_text(lua_State *L) {
  push_scope_text(L, 1, luaL_checkstring(L, 2));
  return 1;
}

void push_usual_scopes(lua_State *L, int config) {
  if (lua_getfield(L, config, "scopes") != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_createtable(L, USUAL, 0);
  for (int i = 0; i < USUAL; i++) {
    lua_pushstring(L, usual[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

enum { OPTIONS = 1, CONFIG, LIST, SEEN, ALL }; /* places on the stack */

/* Each of the list at index that is not in ALL yet. */
static void join(lua_State *L, int index) {
  for (lua_Integer i = 1, count = luaL_len(L, index); i <= count; i++) {
    push_scope(L, index, i, "scopes");
    lua_pushvalue(L, -1);
    if (lua_rawget(L, SEEN) == LUA_TNIL) {
      lua_pushvalue(L, -2);
      list_append(L, ALL);
    }
    lua_pop(L, 1);
    lua_pushboolean(L, true);
    lua_rawset(L, SEEN);
  }
}

/* core.more_scopes({ scopes = list }, config) -> the options of an authorize address that asks for these
 * besides those of fleet.new */
static int l_more_scopes(lua_State *L) {
  lua_settop(L, CONFIG);
  if (lua_istable(L, OPTIONS))
    lua_getfield(L, OPTIONS, "scopes");
  else
    lua_pushnil(L);
  if (!lua_istable(L, LIST) || !luaL_len(L, LIST))
    return usage_error(L, "add_scopes_url: 'scopes' must be a list of scopes");
  lua_newtable(L);
  lua_newtable(L);
  push_usual_scopes(L, CONFIG);
  join(L, ALL + 1);
  join(L, LIST);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, ALL);
  lua_setfield(L, -2, "scopes");
  set_boolean(L, "prompt_missing_scopes", true);
  return 1;
}

/* core.business_grant({ auth_code =, scopes = }, config) -> the grant of a business token; raises where a
 * member is missing */
static int l_business_grant(lua_State *L) {
  lua_settop(L, CONFIG);
  lua_createtable(L, 0, 4);
  set_text(L, "kind", "business");
  if (lua_getfield(L, OPTIONS, "auth_code") != LUA_TSTRING || !lua_rawlen(L, -1))
    return usage_error(L, "bad option 'auth_code': the code of the business's consent expected");
  lua_setfield(L, -2, "auth_code");
  lua_getfield(L, OPTIONS, "scopes");
  if (!lua_toboolean(L, -1)) lua_getfield(L, CONFIG, "scopes");
  push_scope_text(L, -1, "scopes");
  if (lua_isnil(L, -1)) return usage_error(L, "bad option 'scopes': a business token needs them");
  lua_setfield(L, CONFIG + 1, "scope");
  lua_settop(L, CONFIG + 1);
  return 1;
}

void open_scopes(lua_State *L) {
  static const luaL_Reg functions[] = {{"scope_text", l_scope_text},
                                       {"more_scopes", l_more_scopes},
                                       {"business_grant", l_business_grant},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
