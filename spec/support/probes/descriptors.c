/* probe_descriptors.close() closes every descriptor but the standard ones, as a process does that becomes a
 * daemon; open(path) opens a file and returns its number, is_open(number) says whether it still is;
 * user_timeout(port) is the milliseconds after which the system ends the accepted connection of an IPv4 port
 * whose bytes are not acknowledged, 0: the system's own, nil: there is no connection, false: no such option.
 */
#include "bind/lua/versions.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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

static int l_user_timeout(lua_State *L) {
  const int port = (int)luaL_checkinteger(L, 1);
#ifdef TCP_USER_TIMEOUT
  for (int fd = STDERR_FILENO + 1; fd < MOST; fd++) {
    struct sockaddr_in own = {0}, peer;
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    unsigned milliseconds = 0;
    socklen_t size = sizeof milliseconds;
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) || own.sin_family != AF_INET ||
        ntohs(own.sin_port) != port || getpeername(fd, (struct sockaddr *)&peer, &peer_size) ||
        getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &size))
      continue;
    lua_pushinteger(L, (lua_Integer)milliseconds);
    return 1;
  }
  return 0;
#else
  (void)port;
  lua_pushboolean(L, 0);
  return 1;
#endif
}

__attribute__((visibility("default"))) int luaopen_probe_descriptors(lua_State *L) {
  static const luaL_Reg functions[] = {{"close", l_close},
                                       {"open", l_open},
                                       {"is_open", l_is_open},
                                       {"user_timeout", l_user_timeout},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
