/* One descriptor for everything that a loop waits for: sockets, other modules' descriptors and one timer.
 *
 * The build chooses one of two implementations (make POLLER=poll). poller_epoll.c uses epoll and a timerfd.
 * poller_poll.c uses poll(2), a pipe and a thread. Every descriptor is closed on exec.
 *
 * A poller remembers the process that made it. A forked child only closes it: parent and child share the
 * epoll instance, and removing a descriptor removes it for both.
 */
#ifndef FLEET_BASE_POLLER_H
#define FLEET_BASE_POLLER_H

#include "base/err.h"
#include <stdint.h>

enum { POLLER_READ = 1, POLLER_WRITE = 2, POLLER_ERROR = 4 };

struct poller_event {
  int fd;
  uint32_t tag; /* as given to poller_watch */
  unsigned events;
};

struct poller_parts; /* of the file that implements it */

struct poller {        /* must stay where it is while others point to it */
  int fd;              /* for others to wait for after poller_export; -1: closed */
  unsigned generation; /* of the process that made it: base/fork.h */
  double armed;        /* when the timer fires, CLOCK_MONOTONIC seconds, 0: not set */
  struct poller_parts *parts;
};

bool poller_open(struct poller *p, struct err *e);
/* events 0 removes; POLLER_ERROR alone waits for errors only, which the other events include. Watching a
 * descriptor again replaces its events and tag. Remove a descriptor before closing it: while a forked child
 * holds a copy, closing it here does not end its events. */
bool poller_watch(struct poller *p, int fd, unsigned events, uint32_t tag, struct err *e);
/* Makes the descriptor readable after so many real seconds at the latest, at once for 0.
 *
 * An earlier time that is already set stays, and any time stays when seconds is negative (no timer). Changing
 * it at each request would cost a system call, which is more than a wake-up without an event. After such a
 * wake-up the caller arms the timer again. */
void poller_arm(struct poller *p, double seconds);
void poller_disarm(struct poller *p); /* and the descriptor is readable no longer for it */
/* Waits at most so many seconds (0: not at all, negative: no limit). Returns the number of events, at most
 * capacity and at most 256. The timer and a signal end the wait without an event. */
int poller_wait(struct poller *p, struct poller_event *events, int capacity, double seconds);
/* From now on others may wait for p->fd, which is readable while poller_wait would return at once. */
bool poller_export(struct poller *p, struct err *e);
bool poller_forked(const struct poller *p);
/* In a forked child: the descriptor of a poller of the parent becomes that of this one, whose number a host
 * watches. False: both stay as they are. */
bool poller_take_fd(struct poller *p, struct poller *from);
void poller_close(struct poller *p); /* idempotent; in a forked child it closes the child's copies only */

extern const char *const poller_name; /* "epoll" or "poll" */
double poller_now(void);              /* CLOCK_MONOTONIC, seconds */

#endif
