/* One descriptor for everything that a loop waits for: sockets, other modules' descriptors and one timer.
 *
 * On Linux the descriptor is an epoll instance that also holds a timerfd, so that a host needs to wait for
 * nothing else. Every descriptor is closed on exec. A poller remembers the process that made it: after a fork
 * the child must not touch the shared epoll instance, because what it removes there is removed for its
 * parent, too.
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

struct poller { /* must stay where it is while others point to it */
  int fd, timer_fd;
  unsigned generation; /* of the process that made it: base/fork.h */
  double armed;        /* when the timer fires, CLOCK_MONOTONIC seconds, 0: not set */
};

bool poller_open(struct poller *p, struct err *e);
/* events 0 removes. Watching a descriptor again replaces its events and tag. Remove a descriptor before
 * closing it: while a forked child holds a copy, closing it here does not end its events. */
bool poller_watch(struct poller *p, int fd, unsigned events, uint32_t tag, struct err *e);
/* Makes the descriptor readable after so many real seconds at the latest. Time moves on with every request,
 * and a system call each time would cost more than a wake-up for nothing: an earlier time that is already set
 * stays set and so does any time when seconds is negative (nothing to wake up for). After such a wake-up the
 * caller arms it anew. */
void poller_arm(struct poller *p, double seconds);
/* Waits at most so many seconds (0: not at all, negative: without end) and returns the number of events, at
 * most capacity and at most 256. The timer is not counted: it, or an interrupting signal, ends the wait with
 * 0 events. */
int poller_wait(struct poller *p, struct poller_event *events, int capacity, double seconds);
bool poller_forked(const struct poller *p);
/* In a forked child: the descriptor of a poller of the parent becomes that of this one, whose number a host
 * watches. False: both stay as they are. */
bool poller_take_number(struct poller *p, struct poller *from);
void poller_close(struct poller *p); /* idempotent; in a forked child it closes the child's copies only */

double poller_now(void); /* CLOCK_MONOTONIC, seconds */

#endif
