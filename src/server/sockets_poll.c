#include "server/internal.h"

#include <sys/select.h>

/* Without epoll the library names its sockets as sets for select(2): they are below FD_SETSIZE. */
const unsigned sockets_flags = 0;
const bool sockets_write_late = true;

struct sets {
  fd_set reads, writes, errors;
  int highest;
};

/* The library would take a connection that is one too many, and close it: it waits in the kernel. */
static void find(struct daemon *d, struct sets *s) {
  FD_ZERO(&s->reads);
  FD_ZERO(&s->writes);
  FD_ZERO(&s->errors);
  s->highest = -1;
  MHD_get_fdset(d->mhd, &s->reads, &s->writes, &s->errors, &s->highest);
  if (!d->quiet && d->count >= d->limits.max_connections) FD_CLR(d->listener.fd, &s->reads);
}

void sockets_run(struct daemon *d) {
  struct timeval at_once = {0, 0};
  struct sets s;
  find(d, &s);
  if (select(s.highest + 1, &s.reads, &s.writes, &s.errors, &at_once) < 0) {
    FD_ZERO(&s.reads);
    FD_ZERO(&s.writes);
    FD_ZERO(&s.errors);
  }
  MHD_run_from_select(d->mhd, &s.reads, &s.writes, &s.errors);
}

bool sockets_join(struct daemon *d) {
  sockets_follow(d);
  return true;
}

/* All anew: the library may have closed a socket and got its number back for another. */
void sockets_follow(struct daemon *d) {
  struct sets s;
  find(d, &s);
  for (int fd = 0; fd <= s.highest || fd <= d->watched_up_to; fd++) {
    unsigned events = (FD_ISSET(fd, &s.reads) ? (unsigned)POLLER_READ : 0) |
                      (FD_ISSET(fd, &s.writes) ? (unsigned)POLLER_WRITE : 0);
    poller_watch(&d->poller, fd, events, 0, NULL);
  }
  d->watched_up_to = s.highest;
}
