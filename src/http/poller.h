/* One descriptor for everything that a loop waits for: sockets, other modules' descriptors and one timer.
 *
 * On Linux the descriptor is an epoll instance that also holds a timerfd, so that a host needs to wait for nothing
 * else. Every descriptor is closed on exec. A poller remembers the process that made it: after a fork the child must
 * not touch the shared epoll instance (traps of fork), it only closes its descriptors.
 */
#ifndef FLEET_HTTP_POLLER_H
#define FLEET_HTTP_POLLER_H

#include "base/err.h"
#include <stdint.h>

enum { POLLER_READ = 1, POLLER_WRITE = 2, POLLER_ERROR = 4 };

struct poller_event {
  int fd;
  uint32_t tag; /* as given to poller_watch */
  unsigned events;
};

struct poller {
  int fd, timer_fd;
  int pid;
  double armed; /* when the timer fires, CLOCK_MONOTONIC seconds, 0: disarmed */
};

bool poller_open(struct poller *p, struct err *e);
/* events 0 removes. Watching a descriptor again replaces its events and tag. */
bool poller_watch(struct poller *p, int fd, unsigned events, uint32_t tag, struct err *e);
/* Makes the descriptor readable after so many real seconds; negative disarms. Costs nothing when nothing changed. */
void poller_arm(struct poller *p, double seconds);
/* Waits at most so many seconds (0: not at all, negative: without end); returns the number of events, the timer not
 * counted. An interrupting signal ends the wait early. */
int poller_wait(struct poller *p, struct poller_event *events, int capacity, double seconds);
bool poller_forked(const struct poller *p);
void poller_close(struct poller *p); /* idempotent */

#endif
