/* probe_descriptors.close() closes every descriptor but the standard ones, as a process does that becomes a
 * daemon; open(path) opens a file and returns its number, is_open(number) says whether it still is. */
#include "bind/lua/versions.h"

#include <fcntl.h>
#include <unistd.h>

enum { MOST = 1024 };

static int l_close(lua_State *L) {
  (void)L;
  for (int fd = STDERR_FILENO + 1; fd < MOST; fd++) close(fd);
  return 0;
}

static int l_open(lua_State *L) {
  lua_pushinteger(L, open(luaL_checkstring(L, 1), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  return 1;
}

static int l_is_open(lua_State *L) {
  lua_pushboolean(L, fcntl((int)luaL_checkinteger(L, 1), F_GETFD) >= 0);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_probe_descriptors(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"close", l_close}, {"open", l_open}, {"is_open", l_is_open}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
