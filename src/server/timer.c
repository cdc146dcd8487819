#include "server/internal.h"

#include <math.h>

void deadline_set(struct daemon *d, double at) {
  if (d->due > 0 && d->due <= at) return;
  d->due = at;
  poller_arm(&d->poller, fmax(at - poller_now(), 0));
}
