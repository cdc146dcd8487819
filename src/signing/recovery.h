/* Whether another message may follow for a command whose message failed: doc/protocol.md#recovery. Pure.
 *
 * A vehicle carries out a command at most once:
 * - The command is signed again, once, if authenticated session info proves that the vehicle took no copy.
 * - It starts again, twice at most, if nothing was sent or if it sets a named state.
 */
#ifndef FLEET_SIGNING_RECOVERY_H
#define FLEET_SIGNING_RECOVERY_H

#include "base/err.h"

struct message_failure {
  enum kind kind;
  enum outcome outcome;
  bool from_vehicle;           /* a fault of the protocol, not of the transport */
  bool final, resynced, stale; /* of session:open */
  bool expired;                /* its lifetime ended before it was sent */
  bool signed_again;           /* once already */
  bool idempotent, other_keys; /* the command sets a named state; the account has more than one key */
  int repeats;                 /* so far */
  double retry_after, left;    /* seconds, 0: not said; until the call's deadline */
};

enum recovery { RECOVERY_NONE, RECOVERY_SIGN, RECOVERY_REPEAT };

/* *pause: seconds before RECOVERY_REPEAT. */
enum recovery recovery_next(const struct message_failure *x, double *pause);

#endif
