/* Results that their owner has not taken. A coroutine that is no task waits in its host for the descriptor.
 * When the turn of another has read its reply, nothing is left to read: until its owner has taken the result,
 * the descriptor becomes ready again, at once and then after pauses that double, and no more after about two
 * seconds, because a host may have dropped the coroutine.
 */
#include "bind/http/loop.h"

static const double shortest = 0.001, longest = 1;

/* loop:untaken() */
int loop_l_untaken(lua_State *L) {
  struct loop *l = check_loop(L);
  l->untaken = (struct untaken){.count = l->untaken.count + 1};
  return 0;
}

/* loop:taken() */
int loop_l_taken(lua_State *L) {
  struct loop *l = check_loop(L);
  if (l->untaken.count > 0) l->untaken.count--;
  return 0;
}

double untaken_seconds(const struct untaken *u) {
  if (u->count == 0) return -1;
  double left = u->at - poller_now();
  return left > 0 ? left : 0;
}

void untaken_told(struct untaken *u) {
  if (u->count == 0 || poller_now() < u->at) return;
  u->pause = u->pause * 2 > shortest ? u->pause * 2 : shortest;
  u->at = poller_now() + u->pause;
  if (u->pause > longest) u->count = 0;
}
