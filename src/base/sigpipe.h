/* Keeps SIGPIPE from the host while a library may write to a connection that is gone.
 *
 * Libraries promise not to raise it and some do (hiredis always, libcurl with some TLS backends). The
 * signal's disposition belongs to the host: the signal is blocked for this thread and, if it came, taken off
 * its queue.
 */
#ifndef FLEET_BASE_SIGPIPE_H
#define FLEET_BASE_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
  sigset_t before;
  bool waiting; /* one was waiting already: it is the host's */
};

/* Takes a blocked signal off the queue, if one is waiting. */
void signal_discard(int number);

void sigpipe_hold(struct sigpipe *s);
void sigpipe_release(const struct sigpipe *s);

#endif
