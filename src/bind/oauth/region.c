#include "oauth/region.h"

#include "bind/oauth/token.h"

static const struct vendor *check_vendor(lua_State *L, int index) {
  const struct vendor *v = vendor_named(check_bytes(L, index));
  luaL_argcheck(L, v, index, "no such vendor");
  return v;
}

/* The text at an index; data NULL for every other type. */
static struct bytes text_at(lua_State *L, int index) {
  struct bytes none = {NULL, 0};
  return lua_type(L, index) == LUA_TSTRING ? check_bytes(L, index) : none;
}

/* core.region_at(vendor's name, base address) -> the region's name, or nil */
static int l_region_at(lua_State *L) {
  const struct region *r = region_at(check_vendor(L, 1), text_at(L, 2));
  lua_pushstring(L, r ? r->name : NULL);
  return 1;
}

/* An audience is a text or a list of texts (RFC 7519 section 4.1.3). */
static void take_audience(lua_State *L, struct region_claims *claims, const struct vendor *v, int index) {
  if (!lua_istable(L, index)) {
    region_audience(claims, v, text_at(L, index));
    return;
  }
  for (lua_Integer i = 1; lua_rawgeti(L, index, i) != LUA_TNIL; i++) {
    region_audience(claims, v, text_at(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* core.region_hint(vendor's name, claims of the access token, start of the refresh token) -> a region's name,
 * or nil */
static int l_region_hint(lua_State *L) {
  const struct vendor *v = check_vendor(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  lua_getfield(L, 2, "ou_code");
  lua_getfield(L, 2, "aud");
  struct region_claims claims = {.code = text_at(L, 4), .start = text_at(L, 3)};
  take_audience(L, &claims, v, 5);
  struct buf *name = push_scratch(L);
  if (region_hint(&claims, name))
    push_buf(L, name);
  else
    lua_pushnil(L);
  return 1;
}

void open_region(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"region_at", l_region_at}, {"region_hint", l_region_hint}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
