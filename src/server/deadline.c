#include "server/internal.h"

#include <math.h>

static double look_at_exchanges(struct daemon *d, double at, double next) {
  for (struct exchange *x = d->exchanges; x; x = x->after) {
    if (!x->suspended || x->due <= 0) continue;
    if (x->due <= at)
      exchange_expire(x);
    else if (x->due < next)
      next = x->due;
  }
  return next;
}

static double look_at_visitors(struct daemon *d, double at, double next) {
  for (struct visitor *v = d->visitors; v; v = v->after) {
    double due = connection_due(d, v);
    if (due > 0 && due <= at)
      connection_turn_away(v);
    else if (due > 0 && due < next)
      next = due;
  }
  return next;
}

/* The timer also fires for other reasons. */
void deadline_look(struct daemon *d) {
  enum { LIBRARY_AND_TIMER = 2 };
  struct poller_event ready[LIBRARY_AND_TIMER]; /* the library finds out for itself which socket it is */
  poller_wait(&d->poller, ready, LIBRARY_AND_TIMER, 0);
  if (d->due <= 0) return;
  double at = poller_now();
  if (at < d->due) {
    poller_arm(&d->poller, d->due - at);
    return;
  }
  d->due = 0;
  double next = look_at_visitors(d, at, look_at_exchanges(d, at, INFINITY));
  if (isfinite(next)) deadline_set(d, next);
}
