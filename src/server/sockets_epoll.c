#include "server/internal.h"

/* The library has an epoll instance of its own. */
const unsigned sockets_flags = MHD_USE_EPOLL;
const bool sockets_write_late = false;

void sockets_run(struct daemon *d) {
  MHD_run(d->mhd);
}

bool sockets_join(struct daemon *d) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(d->mhd, MHD_DAEMON_INFO_EPOLL_FD);
  return info && poller_watch(&d->poller, info->epoll_fd, POLLER_READ, 0, NULL);
}

void sockets_follow(struct daemon *d) {
  (void)d;
}
