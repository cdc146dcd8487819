#include "server/internal.h"

#include <math.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const double AT_ONCE = 1e-6; /* a moment long past on the monotonic clock */

double timer_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Only ever moved forward; when it fires, the next moment is looked up. That costs one system call per second
 * or so instead of one per request. */
void timer_arm(struct daemon *d, double at) {
  if (at < AT_ONCE) at = AT_ONCE;
  if (d->armed > 0 && d->armed <= at) return;
  double whole = floor(at), nanoseconds = (at - whole) * 1e9;
  struct itimerspec t = {{0, 0}, {(time_t)whole, (long)fmin(nanoseconds, 999999999.0)}};
  timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
  d->armed = at;
}

void timer_arm_now(struct daemon *d) {
  timer_arm(d, AT_ONCE);
}

/* Whether a moment has come that was asked for; then the timer is disarmed, and the caller arms it for the
 * next one. */
bool timer_fired(struct daemon *d, double at) {
  uint64_t fired;
  if (at < d->armed || read(d->timer_fd, &fired, sizeof fired) != sizeof fired) return false;
  d->armed = 0;
  return true;
}
