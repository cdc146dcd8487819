#include "base/sigpipe.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static sigset_t only_sigpipe(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

void sigpipe_hold(struct sigpipe *s) {
  sigset_t set = only_sigpipe(), waiting;
  s->waiting = false;
  pthread_sigmask(SIG_BLOCK, &set, &s->before);
  if (!sigismember(&s->before, SIGPIPE)) return; /* none could have been waiting */
  sigpending(&waiting);
  s->waiting = sigismember(&waiting, SIGPIPE);
}

void sigpipe_release(const struct sigpipe *s) {
  static const struct timespec at_once = {0, 0};
  sigset_t set = only_sigpipe();
  if (!s->waiting)
    while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR) continue;
  if (!sigismember(&s->before, SIGPIPE)) pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}
