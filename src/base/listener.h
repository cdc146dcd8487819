/* A listening socket: numeric TCP address or Unix socket.
 *
 * The HTTP library could open it, but a Unix socket needs more:
 * - It is private from its first moment.
 * - It replaces the file of a crashed process, and never that of a running server.
 * - Closing removes its file only if the file is still ours.
 */
#ifndef FLEET_BASE_LISTENER_H
#define FLEET_BASE_LISTENER_H

#include "base/err.h"
#include <sys/types.h>
#include <sys/un.h>

struct listener {
  int fd;        /* -1: none; close-on-exec, non-blocking */
  int port;      /* the real one, 0 for a Unix socket */
  char host[46]; /* numeric, "" for a Unix socket */
  int backlog;
  bool reuse_port; /* TCP: other processes of this user may listen at the same port; the kernel shares the
                      connections out */
  char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* "" for TCP */
  dev_t device;
  ino_t inode; /* of the socket that we made at path */
};

bool listener_tcp(struct listener *l, const char *host, int port,
                  struct err *e); /* host: numeric IPv4 or IPv6 */
bool listener_unix(struct listener *l, const char *path, struct err *e);
bool listener_adopt(struct listener *l, int fd, struct err *e); /* one that another program opened: systemd */
int listener_duplicate(const struct listener *l); /* a descriptor of the same socket, -1: none */
void listener_unlink(const struct listener *l);   /* removes the path if it is still ours */

#endif
