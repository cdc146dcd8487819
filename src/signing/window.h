/* Which counters were used: the highest one and the 32 below it (doc/protocol.md#vehicle-side).
 *
 * Messages may overtake each other: a lower counter is a replay only when it was used before. The vehicle
 * keeps one window per key, and the client one per request for the counters of its answers.
 */
#ifndef FLEET_SIGNING_WINDOW_H
#define FLEET_SIGNING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_WIDTH = 32 };

struct window {
  uint32_t highest;
  uint32_t used; /* bit i: highest - 1 - i was used */
  bool open;     /* false: nothing was accepted yet, and any first counter is accepted */
};

/* The window after n, or the same window and *accepted = false when n was used before or is too old. Pure. */
struct window window_use(struct window w, uint32_t n, bool *accepted);

#endif
