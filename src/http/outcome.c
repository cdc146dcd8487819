#include "http/outcome.h"

#include "base/text.h"
#include "http/header.h"
#include "http/retry_after.h"

#include <math.h>
#include <string.h>

enum { TEXT_LIMIT = 16 * 1024, RATE_LIMIT_WAIT = 300 };

/* ---- the verdict ---- */

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

/* The outcome of a write in the words of a signing proxy (doc/protocol.md#proxy-replies): the proxy knows
 * whether the command was sent to the vehicle, a status does not show it. */
static enum outcome outcome_said(const struct exchange *x, enum outcome otherwise) {
  struct bytes said = header_value(x->headers, "x-fleet-outcome");
  if (!x->proxied || !said.data) return otherwise;
  if (bytes_equal(said, bytes_of("not_sent"))) return OUTCOME_NOT_SENT;
  return bytes_equal(said, bytes_of("refused")) ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
}

bool outcome_page(struct bytes text, struct bytes headers) {
  struct bytes type = header_value(headers, "content-type");
  if (text_starts(text, "\xEF\xBB\xBF")) text = text_skip(text, 3);
  while (text.size && (text.data[0] <= ' ')) text = text_skip(text, 1);
  return text_starts(text, "<") || (type.data && text_starts(type, "text/html"));
}

/* What only the vehicle can have said decides; a number without a row may have been carried out, and is not
 * repeated. */
static void judge_fault(struct verdict *v) {
  const struct fault *row = v->fault.row;
  v->kind = row ? row->kind : KIND_protocol;
  v->outcome = row ? row->outcome : OUTCOME_UNKNOWN;
  v->transient = row && !row->final && (v->kind == KIND_service || v->kind == KIND_timeout);
}

static void judge_reason(struct verdict *v, struct bytes words) {
  const struct reason *reason = reason_in(words);
  if (!reason || !reason->kind || !strstr(reason->where, "vehicle")) return;
  v->reason = reason;
  v->kind = reason->kind;
  v->outcome = reason->outcome;
  v->transient = v->kind == KIND_service || v->kind == KIND_timeout;
}

/* The status of a signing proxy that says "failed" and no more: its words may say what failed. */
static bool says_little(const struct status *row) {
  return !row->text && (!row->status || row->status >= 500) && row->kind == KIND_service;
}

/* What the signing proxy passed on in a failure: a fault of the protocol or a reason of the vehicle. */
static void judge_words(struct verdict *v, const struct exchange *x) {
  v->fault = fault_in(text_cut(x->words, TEXT_LIMIT));
  if (!v->fault.found) v->fault = fault_in(text_cut(x->details, TEXT_LIMIT));
  if (v->fault.found)
    judge_fault(v);
  else if (says_little(v->row))
    judge_reason(v, text_cut(x->words, TEXT_LIMIT));
}

static struct verdict judge_status(const struct exchange *x) {
  bool page = outcome_page(x->text, x->headers);
  struct bytes text = page ? (struct bytes){NULL, 0} : text_cut(x->text, TEXT_LIMIT);
  const struct status *row = find_row(x, text);
  struct verdict v = {.kind = row->kind, .outcome = row->outcome, .row = row, .page = page};
  if (row->trait == TRAIT_BY_STATE) v.kind = kind_by_state(row, x->state);
  v.transient = v.kind == KIND_service || v.kind == KIND_timeout;
  if (x->proxied) judge_words(&v, x);
  v.outcome = outcome_said(x, v.outcome);
  if (x->write && v.outcome == OUTCOME_REFUSED) v.transient = false;
  v.retry_after = retry_after(x->headers, text, x->wall);
  if (v.retry_after < 0) v.retry_after = v.kind == KIND_rate_limited ? RATE_LIMIT_WAIT : 0;
  return v;
}

/* 205 has no answer, 206 is a part that was not asked for: RFC 9110 15.3.6 and 15.3.7. */
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

/* The number of retries after a transient failure: two for reads and idempotent writes, one for other writes
 * and only when nothing was sent. */
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
