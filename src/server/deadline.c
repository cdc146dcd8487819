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

void deadline_look(struct daemon *d) {
  if (d->armed <= 0) return;
  double at = timer_now();
  if (!timer_fired(d, at)) return;
  double next = look_at_visitors(d, at, look_at_exchanges(d, at, INFINITY));
  if (isfinite(next)) timer_arm(d, next);
}
