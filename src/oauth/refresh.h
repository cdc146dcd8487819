/* The order in which a token pair is renewed (rule R2), as a table: what was just done, what came of it, what comes next.
 *
 * Lease, read, use a newer pair if there is one, reserve the write, exchange, write, release. Nothing is done here; the
 * caller performs each action and says what came of it.
 */
#ifndef FLEET_OAUTH_REFRESH_H
#define FLEET_OAUTH_REFRESH_H

#define REFRESH_ACTIONS(X)                                                                                   \
  X(begin) X(lease) X(peek) X(wait) X(read) X(reserve) X(exchange) X(renew) X(repeat) X(look_again)          \
  X(previous) X(save) X(take_over) X(keep) X(done) X(fail)
#define REFRESH_EVENTS(X) X(ok) X(busy) X(newer) X(late) X(unanswered) X(refused) X(conflict) X(failed)

enum refresh_action {
#define X(name) REFRESH_##name,
  REFRESH_ACTIONS(X)
#undef X
};
enum refresh_event {
#define X(name) EVENT_##name,
  REFRESH_EVENTS(X)
#undef X
};

/* What follows an action and what came of it; an event that the table does not know is a failure. */
enum refresh_action refresh_next(enum refresh_action last, enum refresh_event event);
const char *refresh_action_name(enum refresh_action action);
int refresh_action_of(const char *name); /* -1: unknown */
int refresh_event_of(const char *name);  /* -1: unknown */

#endif
