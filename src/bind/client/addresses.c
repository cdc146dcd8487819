#include "bind/lua/bind.h"

#include "base/address.h"

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

void open_addresses(lua_State *L) {
  lua_pushcfunction(L, l_address);
  lua_setfield(L, -2, "address");
}
