/* What is wrong with a configuration file, before its options are used: sentences, or nothing. */
#include "bind/lua/bind.h"

#include "tables/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool holds_secret(lua_State *L, int options) {
  bool found = false;
  for (const struct option *o = option_rows; o->name && !found; o++) {
    lua_getfield(L, options, o->name);
    found = o->flags & SECRET && !lua_isnil(L, -1);
    lua_pop(L, 1);
  }
  return found;
}

/* core.config_mode_fault(path, mode, options) -> a sentence where others may write the file, who would decide
 * where tokens are sent, or may read the secrets in it */
static int l_mode_fault(lua_State *L) {
  const char *path = luaL_checkstring(L, 1), *fault = NULL;
  lua_Integer mode = luaL_checkinteger(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  if (mode & (S_IWGRP | S_IWOTH))
    fault = "can be written by others";
  else if (mode & (S_IRWXG | S_IRWXO) && holds_secret(L, 3))
    fault = "holds a secret and can be read by others";
  if (!fault) return 0;
  lua_pushfstring(L, "%s %s: chmod 600 %s", path, fault, path);
  return 1;
}

static int line_of(struct bytes text, size_t character) {
  int line = 1;
  for (size_t i = 0; i + 1 < character && i < text.size; i++) line += text.data[i] == '\n';
  return line;
}

/* core.config_json_fault(path, text, fault) -> "path:line: this is not JSON: …"; fault: of core.json_fault,
 * or nil */
static int l_json_fault(lua_State *L) {
  static const char at[] = " at character ";
  const char *path = luaL_checkstring(L, 1), *fault = luaL_optstring(L, 3, "it is not JSON");
  struct bytes text = check_bytes(L, 2);
  const char *place = strstr(fault, at);
  int line = line_of(text, place ? (size_t)strtoul(place + sizeof at - 1, NULL, 10) : 1);
  struct buf *out = push_scratch(L);
  buf_format(out, "%s:%d: this is not JSON: %c", path, line, tolower((unsigned char)fault[0]));
  buf_add(out, fault + 1, place ? (size_t)(place - fault) - 1 : strlen(fault) - 1);
  push_buf(L, out);
  return 1;
}

/* core.config_path() -> $XDG_CONFIG_HOME/fleet/config.json, or the same below ~/.config */
static int l_path(lua_State *L) {
  const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (base && *base)
    lua_pushfstring(L, "%s/fleet/config.json", base);
  else
    lua_pushfstring(L, "%s/.config/fleet/config.json", home ? home : ".");
  return 1;
}

void open_config_file(lua_State *L) {
  static const luaL_Reg functions[] = {{"config_path", l_path},
                                       {"config_mode_fault", l_mode_fault},
                                       {"config_json_fault", l_json_fault},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
