#include "bind/lua/bind.h"

#include "base/address.h"
#include "base/hostname.h"

static struct bytes text_at(lua_State *L, int index) {
  struct bytes none = {NULL, 0};
  return lua_type(L, index) == LUA_TSTRING ? check_bytes(L, index) : none;
}

/* hostname.host_problem(text) -> the mistake in the name of a host, as part of a sentence; or nil */
static int l_host_problem(lua_State *L) {
  lua_pushstring(L, hostname_problem(text_at(L, 1)));
  return 1;
}

/* hostname.problem(text) -> the mistake in a domain and a suggestion or nil; or nil */
static int l_problem(lua_State *L) {
  const char *problem = domain_problem(text_at(L, 1));
  if (!problem) return 0;
  lua_pushstring(L, problem);
  struct buf *meant = push_scratch(L);
  if (!domain_meant(text_at(L, 1), meant)) return lua_pop(L, 1), 1;
  push_buf(L, meant);
  lua_remove(L, -2);
  return 2;
}

/* Pushes the sentence about a wrong domain, or nothing. */
static bool push_sentence(lua_State *L, int index) {
  struct buf *out = push_scratch(L);
  if (!domain_sentence(text_at(L, index), out)) return false;
  push_buf(L, out);
  return true;
}

/* hostname.sentence(text) -> the sentence about a wrong domain, or nil */
static int l_sentence(lua_State *L) {
  return push_sentence(L, 1) ? 1 : 0;
}

/* hostname.check(who, text): raises for a wrong domain, with who in front */
static int l_check(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  if (!push_sentence(L, 2)) return 0;
  return usage_error(L, "%s: %s", who, lua_tostring(L, -1));
}

/* core.address(text) -> the address without the slashes at its end, and "plain" for http beyond this machine;
 * or nil, and the text as it may be shown, for one that is malformed */
static int l_address(lua_State *L) {
  struct bytes text = check_bytes(L, 1), cut = text;
  enum address found = address_check(&cut);
  if (found == ADDRESS_MALFORMED) {
    lua_pushnil(L);
    struct buf *shown = push_scratch(L);
    address_shown(shown, text);
    push_buf(L, shown);
    lua_remove(L, -2);
    return 2;
  }
  lua_pushlstring(L, (const char *)cut.data, cut.size);
  lua_pushstring(L, found == ADDRESS_PLAIN ? "plain" : NULL);
  return 2;
}

void open_hostname(lua_State *L) {
  static const luaL_Reg functions[] = {{"host_problem", l_host_problem},
                                       {"problem", l_problem},
                                       {"sentence", l_sentence},
                                       {"check", l_check},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "hostname");
  lua_pushcfunction(L, l_address);
  lua_setfield(L, -2, "address");
}
