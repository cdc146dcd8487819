/* probe_openssl_errors() leaves an error in this thread's queue of OpenSSL, as other modules of a host do. */
#include "bind/lua/versions.h"

#include <openssl/err.h>

static int l_leave(lua_State *L) {
  (void)L;
  ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
  return 0;
}

__attribute__((visibility("default"))) int luaopen_probe_openssl_errors(lua_State *L) {
  lua_pushcfunction(L, l_leave);
  return 1;
}
