/* Who is due when: a heap of keys ordered by time. Of two that are due at the same time the one that was
 * pushed first comes first.
 *
 * Pushing is the only step that takes memory, and it takes it before it changes anything.
 */
#ifndef FLEET_BASE_TIMERS_H
#define FLEET_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
  double at;
  int64_t key; /* grows with every push */
};

struct timers { /* zeroed: empty */
  struct timer *heap;
  size_t size, room;
  int64_t pushed;
};

bool timers_reserve(struct timers *t);                    /* room for one more; false: no memory */
int64_t timers_push(struct timers *t, double at);         /* after timers_reserve; the key that it got */
const struct timer *timers_first(const struct timers *t); /* NULL: none */
void timers_pop(struct timers *t);                        /* takes the first away */
void timers_free(struct timers *t);

#endif
