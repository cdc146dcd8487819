#include "bind/client/options.h"

#include "base/address.h"
#include "bind/call/rows.h"

#include <string.h>

enum { CONFIG = 1, FOUND = 3 }; /* places on the stack: the configuration, the addresses */

/* The text of an option, which lives in the configuration; its data is NULL when it is not given. */
static struct bytes option_text(lua_State *L, const char *name) {
  struct bytes none = {NULL, 0};
  lua_getfield(L, CONFIG, name);
  struct bytes text = lua_type(L, -1) == LUA_TSTRING ? check_bytes(L, lua_gettop(L)) : none;
  lua_pop(L, 1);
  return text;
}

static bool option_is(lua_State *L, const char *name, const char *value) {
  return bytes_equal(option_text(L, name), bytes_of(value));
}

static const struct vendor *vendor_of(lua_State *L) {
  const char *names[CHOICES_MOST];
  size_t count = 0;
  for (const struct vendor *v = vendor_rows; v->name && count < CHOICES_MOST; v++) {
    if (option_is(L, "vendor", v->name)) return v;
    names[count++] = v->name;
  }
  lua_getfield(L, CONFIG, "vendor");
  const char *given = lua_tostring(L, -1);
  raise_choice(L, "vendor", given ? given : luaL_typename(L, -1), names, count);
  return NULL;
}

static const struct region *region_of(lua_State *L, const struct vendor *vendor) {
  const char *names[CHOICES_MOST];
  size_t count = 0;
  if (!option_text(L, "region").data) return vendor->regions;
  for (const struct region *r = vendor->regions; r->name && count < CHOICES_MOST; r++) {
    if (option_is(L, "region", r->name)) return r;
    names[count++] = r->name;
  }
  lua_getfield(L, CONFIG, "region");
  raise_choice(L, "region", lua_tostring(L, -1), names, count);
  return NULL;
}

static void push_bytes(lua_State *L, struct bytes text) {
  lua_pushlstring(L, (const char *)text.data, text.size);
}

static int malformed(lua_State *L, const char *name, struct bytes text) {
  struct buf *shown = push_scratch(L);
  address_shown(shown, text);
  return usage_error(L, "fleet.new: option '%s' must be an address such as https://host, got '%s'", name,
                     buf_text(shown));
}

/* Takes the address of an option, or the fallback, into the addresses. */
static void take_address(lua_State *L, const char *name, const char *fallback) {
  struct bytes text = option_text(L, name), cut = text;
  lua_getfield(L, CONFIG, "insecure_http");
  bool insecure = lua_toboolean(L, -1);
  lua_pop(L, 1);
  enum address found = text.data ? address_check(&cut) : ADDRESS_SOUND;
  if (found == ADDRESS_MALFORMED) malformed(L, name, text);
  if (found == ADDRESS_PLAIN && !insecure)
    usage_error(L,
                "fleet.new: option '%s': http:// is taken for this machine only; use https, or insecure_http "
                "= true",
                name);
  push_bytes(L, text.data ? cut : bytes_of(fallback));
  lua_setfield(L, FOUND, name);
}

/* "http+unix:/path" is HTTP over a Unix socket: a local proxy. False: the option is no such address. */
static bool take_socket(lua_State *L, const char *name, const char *path_name) {
  struct bytes path = address_socket(option_text(L, name));
  if (!path.size) return false;
  push_bytes(L, path);
  lua_setfield(L, FOUND, path_name);
  lua_pushliteral(L, "http://localhost");
  lua_setfield(L, FOUND, name);
  return true;
}

static void take_addresses(lua_State *L, const struct region *region) {
  if (take_socket(L, "base_url", "unix_path")) {
    /* Behind the socket is the service: what a token is for is its address. */
    lua_pushstring(L, region->base_url);
    lua_setfield(L, FOUND, "audience");
  } else {
    take_address(L, "base_url", region->base_url);
  }
  take_address(L, "auth_url", region->auth_url);
  take_address(L, "token_url", region->token_url);
}

static void take_proxy(lua_State *L) {
  bool given = option_text(L, "proxy_url").data != NULL;
  if (!given && option_is(L, "commands", "proxy"))
    usage_error(L, "fleet.new: commands = \"proxy\" needs proxy_url");
  if (given && !take_socket(L, "proxy_url", "proxy_unix_path")) take_address(L, "proxy_url", NULL);
}

/* core.addresses(config) -> vendor, { base_url =, auth_url =, token_url =, unix_path =, audience =, ... }:
 * those of the configuration, or of its region. Raises for a wrong one, naming the option. */
static int l_addresses(lua_State *L) {
  luaL_checktype(L, CONFIG, LUA_TTABLE);
  lua_settop(L, CONFIG);
  const struct vendor *vendor = vendor_of(L);
  push_vendor(L, vendor);
  lua_createtable(L, 0, 8);
  take_addresses(L, region_of(L, vendor));
  take_proxy(L);
  return 2;
}

void open_addresses(lua_State *L) {
  lua_pushcfunction(L, l_addresses);
  lua_setfield(L, -2, "addresses");
}
