#include "oauth/region.h"

#include "bind/oauth/oauth.h"

#include <string.h>

static const struct vendor *check_vendor(lua_State *L, int index) {
  struct bytes name = check_bytes(L, index);
  for (const struct vendor *v = vendor_rows; v->name; v++)
    if (bytes_equal(bytes_of(v->name), name)) return v;
  luaL_argerror(L, index, "no such vendor");
  return NULL;
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

/* Appends an address to the list on top, unless it stands there. */
static void append(lua_State *L, const char *base_url) {
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    bool same = lua_rawgeti(L, -1, i) == LUA_TSTRING && strcmp(lua_tostring(L, -1), base_url) == 0;
    lua_pop(L, 1);
    if (same) return;
  }
  lua_pushstring(L, base_url);
  lua_rawseti(L, -2, count + 1);
}

/* core.region_addresses(vendor's name, address of the sign-in, base address in use, hinted name or nil) ->
 * the base addresses with the same sign-in, the likeliest first: the hinted one, the one in use, the vendor's
 * others */
static int l_region_addresses(lua_State *L) {
  const struct vendor *v = check_vendor(L, 1);
  const char *auth_url = luaL_checkstring(L, 2), *in_use = luaL_checkstring(L, 3);
  const struct region *hinted = region_named(v, text_at(L, 4));
  lua_newtable(L);
  if (hinted && strcmp(hinted->auth_url, auth_url) == 0) append(L, hinted->base_url);
  append(L, in_use);
  for (const struct region *r = v->regions; r->name; r++)
    if (strcmp(r->auth_url, auth_url) == 0) append(L, r->base_url);
  return 1;
}

/* ---- where nobody may act ---- */

enum { SEARCH = 2, LIST = 3 }; /* places on the stack */

static const char *name_of(const struct vendor *v, struct bytes base_url) {
  const struct region *r = region_at(v, base_url);
  return r ? r->name : (const char *)base_url.data;
}

/* The addresses stay in the list. */
static struct bytes address_in_list(lua_State *L, lua_Integer i) {
  lua_rawgeti(L, LIST, i);
  struct bytes address = check_bytes(L, -1);
  lua_pop(L, 1);
  return address;
}

/* Where the account lives, as far as anybody said: the name of a region, or NULL. */
static const char *home_of(lua_State *L, const struct vendor *v) {
  lua_getfield(L, SEARCH, "home");
  if (lua_isstring(L, -1)) return name_of(v, check_bytes(L, -1));
  lua_getfield(L, SEARCH, "hinted");
  const char *hinted = lua_tostring(L, -1);
  for (lua_Integer i = 1, count = (lua_Integer)lua_rawlen(L, LIST); hinted && i <= count; i++)
    if (strcmp(name_of(v, address_in_list(L, i)), hinted) == 0) return hinted;
  return NULL;
}

static void add_names(lua_State *L, struct buf *out, const struct vendor *v) {
  for (lua_Integer i = 1, count = (lua_Integer)lua_rawlen(L, LIST); i <= count; i++)
    buf_format(out, "%s%s", i > 1 ? ", " : "", name_of(v, address_in_list(L, i)));
}

/* core.region_unregistered(vendor's name, { unregistered = base addresses, home = base address, hinted = name
 * }) -> nil, err, kind: where to register the application */
static int l_region_unregistered(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct vendor *v = check_vendor(L, 1);
  luaL_checktype(L, SEARCH, LUA_TTABLE);
  lua_settop(L, SEARCH);
  lua_getfield(L, SEARCH, "unregistered");
  luaL_checktype(L, LIST, LUA_TTABLE);
  struct buf *where = push_scratch(L);
  const char *home = home_of(L, v);
  buf_text_add(where, home ? "region " : "the account's region, one of ");
  if (home)
    buf_format(where, "%s, where the account lives", home);
  else
    add_names(L, where, v);
  err_set(&e, KIND_unregistered,
          "the application is not registered in %s: register it there, with 'fleet setup' or "
          "client.partner:register",
          buf_ok(where) ? buf_text(where) : "the account's region");
  e.status = 412;
  return push_failure(L, &e);
}

void open_region(lua_State *L) {
  static const luaL_Reg functions[] = {{"region_at", l_region_at},
                                       {"region_unregistered", l_region_unregistered},
                                       {"region_hint", l_region_hint},
                                       {"region_addresses", l_region_addresses},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
