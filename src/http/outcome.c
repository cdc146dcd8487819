#include "http/outcome.h"

#include "base/text.h"
#include "http/header.h"
#include "http/retry_after.h"

#include <math.h>

enum { TEXT_LIMIT = 16 * 1024, RATE_LIMIT_WAIT = 300 };

/* ---- what it means ---- */

static const struct failure_row {
  enum kind kind;
  bool transient;
} failure_rows[] = {
    [HTTP_RESOLVE] = {KIND_network, true},
    [HTTP_CONNECT] = {KIND_network, true},
    [HTTP_TLS] = {KIND_tls, false},
    [HTTP_TIMEOUT] = {KIND_timeout, true},
    [HTTP_EMPTY] = {KIND_network, true},
    [HTTP_CUT] = {KIND_protocol, true},
    [HTTP_TOO_LARGE] = {KIND_protocol, false},
    [HTTP_CANCELLED] = {KIND_cancelled, false},
    [HTTP_SINK] = {KIND_store, false},
    [HTTP_LOCAL] = {KIND_network, false},
};

static bool contains(struct bytes b, const char *part) {
  return !part || text_after(b, part).data;
}

static bool row_matches(const struct status *row, const struct exchange *x, struct bytes text) {
  if (row->status && row->status != x->status) return false;
  if (row->trait == TRAIT_PROXY && !x->proxied) return false;
  return contains(text, row->text) && contains(text, row->also);
}

static const struct status *find_row(const struct exchange *x, struct bytes text) {
  const struct status *row = status_rows;
  while (!row_matches(row, x, text)) row++;
  return row;
}

static enum kind kind_by_state(const struct status *row, enum vehicle_state state) {
  if (state == STATE_ASLEEP) return KIND_asleep;
  if (state == STATE_OFFLINE) return KIND_offline;
  if (state == STATE_ONLINE && row->kind == KIND_asleep) return KIND_offline; /* awake, but out of reach */
  return row->kind;
}

/* What the signing proxy says of a write, where it says it (doc/protocol.md#proxy-replies): it knows what
 * left for the vehicle, a status alone does not. */
static enum outcome outcome_said(const struct exchange *x, enum outcome otherwise) {
  struct bytes said = header_value(x->headers, "x-fleet-outcome");
  if (!x->proxied || !said.data) return otherwise;
  if (bytes_equal(said, bytes_of("not_sent"))) return OUTCOME_NOT_SENT;
  return bytes_equal(said, bytes_of("refused")) ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
}

static struct verdict judge_status(const struct exchange *x) {
  struct bytes text = text_cut(x->text, TEXT_LIMIT);
  const struct status *row = find_row(x, text);
  struct verdict v = {.kind = row->kind, .outcome = outcome_said(x, row->outcome), .row = row};
  if (row->trait == TRAIT_BY_STATE) v.kind = kind_by_state(row, x->state);
  v.transient = v.kind == KIND_service || v.kind == KIND_timeout;
  v.retry_after = retry_after(x->headers, text, x->wall);
  if (v.retry_after < 0) v.retry_after = v.kind == KIND_rate_limited ? RATE_LIMIT_WAIT : 0;
  return v;
}

/* 205 has no answer, 206 is a part of one that nobody asked for: RFC 9110 15.3.6 and 15.3.7. */
static bool not_whole(int status) {
  return status == 205 || status == 206;
}

struct verdict outcome_judge(const struct exchange *x) {
  struct verdict v = {.kind = KIND_none};
  if (x->failure != HTTP_OK) {
    v.kind = failure_rows[x->failure].kind;
    v.transient = failure_rows[x->failure].transient;
    v.outcome = x->sent ? OUTCOME_UNKNOWN : OUTCOME_NOT_SENT;
  } else if (x->status / 100 != 2) {
    v = judge_status(x);
  } else if (x->unreadable || not_whole(x->status)) {
    v.kind = KIND_protocol;
    v.outcome = OUTCOME_UNKNOWN;
  }
  if (!x->write) v.outcome = OUTCOME_NONE;
  return v;
}

/* ---- what to do next ---- */

/* Reads and idempotent writes twice; any other write once, if no connection stood and nothing can have left.
 */
static int repeats_allowed(const struct verdict *v, const struct history *h) {
  if (v->kind == KIND_scope) return 1; /* the service refuses at random (doc/protocol.md#scopes) */
  if (!v->transient) return 0;
  if (!h->write || h->idempotent) return 2;
  return v->outcome == OUTCOME_NOT_SENT ? 1 : 0;
}

static const double pauses[] = {0.25, 1.0};
static const double longest_pause = 5; /* no long silent waits: rule R8 */

enum next outcome_next(const struct verdict *v, const struct history *h, double *wait) {
  *wait = 0;
  if (v->kind == KIND_none || h->left <= 0) return NEXT_FAIL;
  if (v->kind == KIND_auth) return h->own_token && h->refreshes == 0 ? NEXT_REFRESH : NEXT_FAIL;
  if (v->kind == KIND_region) return h->other_host && h->regions == 0 ? NEXT_REGION : NEXT_FAIL;
  if (h->repeats >= repeats_allowed(v, h)) return NEXT_FAIL;
  double pause = fmax(pauses[h->repeats], v->retry_after);
  if (pause > longest_pause || pause >= h->left) return NEXT_FAIL;
  *wait = pause;
  return NEXT_REPEAT;
}
