#include "base/sockets.h"

#include "base/sigpipe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#ifdef SOCK_CLOEXEC

int socket_open(int family, int type, int protocol) {
  return socket(family, type | SOCK_CLOEXEC, protocol);
}

int socket_open_async(int family, int type) {
  return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int socket_accept_async(int listener, struct sockaddr *from, socklen_t *size) {
  return accept4(listener, from, size, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

#else

static int with_flags(int fd, bool async) {
  if (fd < 0 || (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && (!async || fcntl(fd, F_SETFL, O_NONBLOCK) == 0)))
    return fd;
  int code = errno;
  close(fd);
  errno = code;
  return -1;
}

int socket_open(int family, int type, int protocol) {
  return with_flags(socket(family, type, protocol), false);
}

int socket_open_async(int family, int type) {
  return with_flags(socket(family, type, 0), true);
}

int socket_accept_async(int listener, struct sockaddr *from, socklen_t *size) {
  return with_flags(accept(listener, from, size), true);
}

#endif

ssize_t socket_send(int fd, const void *data, size_t size) {
#ifdef MSG_NOSIGNAL
  return send(fd, data, size, MSG_NOSIGNAL);
#else
  struct sigpipe held;
  sigpipe_hold(&held);
  ssize_t sent = send(fd, data, size, 0);
  int code = errno;
  sigpipe_release(&held);
  errno = code;
  return sent;
#endif
}

long socket_user(int fd) {
#ifdef __linux__
  struct ucred who;
  socklen_t size = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? (long)who.uid : -1;
#else
  uid_t user;
  gid_t group;
  return getpeereid(fd, &user, &group) == 0 ? (long)user : -1;
#endif
}

void socket_keep_alive(int fd, int idle, int interval, int count) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef TCP_KEEPIDLE
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
#elif defined TCP_KEEPALIVE
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPALIVE, &idle, sizeof idle);
#endif
#ifdef TCP_KEEPINTVL
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
#endif
#ifdef TCP_USER_TIMEOUT
  /* Without it the kernel repeats bytes that are not acknowledged for 15 minutes, and sends no probes. */
  const unsigned milliseconds = (unsigned)(idle + interval * count) * 1000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
#endif
  (void)idle, (void)interval, (void)count;
}
