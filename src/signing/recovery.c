#include "signing/recovery.h"

#include <math.h>

enum { MOST_REPEATS = 2, LONGEST_PAUSE = 5 /* s: no long silent waits */ };

static bool is_transient(enum kind kind) {
  return kind == KIND_busy || kind == KIND_timeout || kind == KIND_service;
}

/* Nothing was sent, and another attempt may succeed: the message expired, the lease was lost, or the vehicle
 * was starting. */
static bool may_start_again(const struct message_failure *x) {
  if (x->outcome != OUTCOME_NOT_SENT) return false;
  return x->expired || x->kind == KIND_conflict || (x->from_vehicle && is_transient(x->kind));
}

static bool may_repeat(const struct message_failure *x) {
  if (x->repeats >= MOST_REPEATS) return false;
  if (may_start_again(x)) return true;
  if (!x->idempotent || x->final) return false;
  if (x->kind == KIND_key_not_paired) return x->from_vehicle && x->other_keys;
  return x->outcome == OUTCOME_UNKNOWN || x->kind == KIND_busy;
}

enum recovery recovery_next(const struct message_failure *x, double *pause) {
  *pause = 0;
  if (x->resynced && x->outcome == OUTCOME_REFUSED && !x->signed_again) return RECOVERY_SIGN;
  if (!may_repeat(x)) return RECOVERY_NONE;
  bool mended = x->expired || x->stale || x->resynced;
  *pause = fmax(x->retry_after, mended ? 0 : 1);
  return *pause > LONGEST_PAUSE || x->left <= *pause ? RECOVERY_NONE : RECOVERY_REPEAT;
}
