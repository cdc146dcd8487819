/* Texts and numbers as others shall read them. */
#include "bind/lua/bind.h"

#include "base/firmware.h"
#include "base/utf8.h"

/* core.utf8_repaired(text) -> the text with everything replaced that is not UTF-8 */
static int l_repaired(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  struct buf *out = push_scratch(L);
  utf8_repair(out, text);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

/* core.utf8_valid(text) -> whether all of it is UTF-8 */
static int l_valid(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  size_t size = 1;
  for (; text.size && size; text.data += size, text.size -= size) size = utf8_sequence(text);
  lua_pushboolean(L, size > 0);
  return 1;
}

enum { DECIMALS_MOST = 17 };

static int push_written(lua_State *L, bool shorten) {
  double value = luaL_checknumber(L, 1);
  lua_Integer decimals = luaL_checkinteger(L, 2);
  luaL_argcheck(L, decimals >= 0 && decimals <= DECIMALS_MOST, 2, "0 to 17 decimals");
  struct buf *out = push_scratch(L);
  if (shorten)
    buf_shortened(out, value, (int)decimals);
  else
    buf_fixed(out, value, (int)decimals);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

/* core.fixed(value, decimals) -> text with so many decimals and a point: string.format writes the decimal
 * sign of the host's locale, which may be any run of bytes. Half-way between two texts every Lua takes the
 * even digit, LuaJIT's own functions the larger one. */
static int l_fixed(lua_State *L) {
  return push_written(L, false);
}

/* core.shortened(value, decimals) -> the same without trailing zeros */
static int l_shortened(lua_State *L) {
  return push_written(L, true);
}

/* core.firmware_older(version, other) -> whether a vehicle's firmware is older than another one; nil where
 * version is no text with a number in it */
static int l_firmware_older(lua_State *L) {
  const char *version = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "",
             *other = luaL_checkstring(L, 2);
  if (!firmware_known(version)) return 0;
  lua_pushboolean(L, firmware_older(version, other));
  return 1;
}

void open_text(lua_State *L) {
  static const luaL_Reg functions[] = {{"utf8_repaired", l_repaired},
                                       {"utf8_valid", l_valid},
                                       {"fixed", l_fixed},
                                       {"shortened", l_shortened},
                                       {"firmware_older", l_firmware_older},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
