/* Whether another message may be made for a command whose message failed: a pure function of what the failure
 * proves and of time (doc/protocol.md#recovery).
 *
 * A command is carried out at most once. It is signed again once where authenticated session info proved that
 * no copy was taken; it is started again where nothing was sent, or where it sets a named state; twice at
 * most.
 */
#ifndef FLEET_SIGNING_RECOVERY_H
#define FLEET_SIGNING_RECOVERY_H

#include "base/err.h"

struct message_failure {
  enum kind kind;
  enum outcome outcome;
  bool from_vehicle;           /* a fault of the protocol, not of the way there */
  bool final, resynced, stale; /* of session:open */
  bool expired;                /* it grew too old before it was sent */
  bool signed_again;           /* once already */
  bool idempotent, other_keys; /* the command sets a named state; the account has more than one key */
  int repeats;                 /* so far */
  double retry_after, left;    /* seconds, 0: not said; until the call's deadline */
};

enum recovery { RECOVERY_NONE, RECOVERY_SIGN, RECOVERY_REPEAT };

/* *pause: seconds before RECOVERY_REPEAT. */
enum recovery recovery_next(const struct message_failure *x, double *pause);

#endif
