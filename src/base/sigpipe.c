#include "base/sigpipe.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static sigset_t only(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return set;
}

void signal_discard(int number) {
  sigset_t set = only(number);
#if _POSIX_REALTIME_SIGNALS > 0
  static const struct timespec at_once = {0, 0};
  while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR) continue;
#else
  sigset_t waiting;
  if (sigpending(&waiting) == 0 && sigismember(&waiting, number)) sigwait(&set, &number);
#endif
}

void sigpipe_hold(struct sigpipe *s) {
  sigset_t set = only(SIGPIPE), waiting;
  s->waiting = false;
  pthread_sigmask(SIG_BLOCK, &set, &s->before);
  if (!sigismember(&s->before, SIGPIPE)) return; /* none could have been waiting */
  sigpending(&waiting);
  s->waiting = sigismember(&waiting, SIGPIPE);
}

void sigpipe_release(const struct sigpipe *s) {
  if (!s->waiting) signal_discard(SIGPIPE);
  if (!sigismember(&s->before, SIGPIPE)) pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
