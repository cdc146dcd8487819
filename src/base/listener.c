#include "base/listener.h"

#include "base/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un local;
};

static bool refuse(struct listener *l, const char *where, struct err *e) {
  const char *reason = strerror(errno);
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
  return err_set(e, KIND_network, "cannot listen on %s: %s", where, reason);
}

/* ---- TCP ---- */

static socklen_t parse(union address *a, const char *host, int port) {
  memset(a, 0, sizeof *a);
  if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = htons((uint16_t)port);
    return sizeof a->v4;
  }
  if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) != 1) return 0;
  a->v6.sin6_family = AF_INET6;
  a->v6.sin6_port = htons((uint16_t)port);
  return sizeof a->v6;
}

static bool read_address(struct listener *l) {
  union address a;
  socklen_t size = sizeof a;
  if (getsockname(l->fd, &a.any, &size)) return false;
  l->host[0] = '\0';
  if (a.any.sa_family == AF_INET) {
    l->port = ntohs(a.v4.sin_port);
    inet_ntop(AF_INET, &a.v4.sin_addr, l->host, sizeof l->host);
  } else if (a.any.sa_family == AF_INET6) {
    l->port = ntohs(a.v6.sin6_port);
    inet_ntop(AF_INET6, &a.v6.sin6_addr, l->host, sizeof l->host);
  }
  return true;
}

bool listener_tcp(struct listener *l, const char *host, int port, struct err *e) {
  union address a;
  socklen_t size = parse(&a, host, port);
  const int on = 1;
  l->path[0] = '\0';
  l->fd = -1;
  if (!size)
    return err_set(e, KIND_invalid, "cannot listen on '%s': give a numeric address such as 127.0.0.1", host);
  char place[INET6_ADDRSTRLEN + sizeof ", port 65535"];
  snprintf(place, sizeof place, "%s, port %d", host, port);
  l->fd = socket_open_async(a.any.sa_family, SOCK_STREAM);
  if (l->fd < 0) return refuse(l, place, e);
  setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (l->reuse_port && setsockopt(l->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on))
    return refuse(l, place, e);
  if (bind(l->fd, &a.any, size) || listen(l->fd, l->backlog) || !read_address(l)) return refuse(l, place, e);
  return true;
}

/* ---- Unix sockets ---- */

/* A socket that refuses connections was left by a process that is gone. Anything else at the path is not
 * ours. */
static bool remove_stale(const union address *a) {
  struct stat st;
  int fd = -1;
  if (lstat(a->local.sun_path, &st) || !S_ISSOCK(st.st_mode) ||
      (fd = socket_open_async(AF_UNIX, SOCK_STREAM)) < 0)
    return false;
  bool dead = connect(fd, &a->any, sizeof a->local) && errno == ECONNREFUSED;
  close(fd);
  return dead && unlink(a->local.sun_path) == 0;
}

static bool bind_path(int fd, const union address *a) {
  if (bind(fd, &a->any, sizeof a->local) == 0) return true;
  if (errno == EADDRINUSE && remove_stale(a)) return bind(fd, &a->any, sizeof a->local) == 0;
  errno = EADDRINUSE;
  return false;
}

static bool remember(struct listener *l) {
  struct stat st;
  if (lstat(l->path, &st)) return false;
  l->device = st.st_dev;
  l->inode = st.st_ino;
  return true;
}

/* Linux: the mode of the descriptor before bind becomes that of the file, so that no other user can connect
 * even for a moment. Other systems return EINVAL: there the mode is set before listen. The umask would do the
 * same, but it belongs to the whole process and its other threads. */
bool listener_unix(struct listener *l, const char *path, struct err *e) {
  union address a = {.local = {.sun_family = AF_UNIX}};
  size_t length = strlen(path);
  l->port = 0;
  l->path[0] = '\0';
  l->fd = -1;
  if (!length || length >= sizeof l->path)
    return err_set(e, KIND_invalid, "the path of a Unix socket has 1 to %zu bytes: %s", sizeof l->path - 1,
                   path);
  memcpy(a.local.sun_path, path, length + 1);
  l->fd = socket_open_async(AF_UNIX, SOCK_STREAM);
  if (l->fd < 0 || (fchmod(l->fd, 0600) && errno != EINVAL) || !bind_path(l->fd, &a))
    return refuse(l, path, e);
  memcpy(l->path, path, length + 1);
  if (!remember(l) || chmod(path, 0600) || listen(l->fd, l->backlog)) return refuse(l, path, e);
  return true;
}

/* ---- sockets of others ---- */

static bool listens(int fd) {
  int on = 0;
  socklen_t size = sizeof on;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on;
}

/* It stays where it is when we end: the program that opened it removes it. */
bool listener_adopt(struct listener *l, int fd, struct err *e) {
  l->path[0] = '\0';
  l->port = 0;
  l->fd = -1;
  if (!listens(fd)) return err_set(e, KIND_invalid, "descriptor %d is not a listening socket", fd);
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
    return err_set(e, KIND_network, "cannot take descriptor %d over", fd);
  l->fd = fd;
  return read_address(l);
}

int listener_duplicate(const struct listener *l) {
  return fcntl(l->fd, F_DUPFD_CLOEXEC, 3);
}

void listener_unlink(const struct listener *l) {
  struct stat st;
  if (!l->path[0] || lstat(l->path, &st)) return;
  if (st.st_dev == l->device && st.st_ino == l->inode) unlink(l->path);
}
