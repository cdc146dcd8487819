#include "http/outcome.h"

#include "http/header.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { TEXT_LIMIT = 16 * 1024, LONGEST_WAIT = 30 * 24 * 3600, RATE_LIMIT_WAIT = 300 };

/* ---- text ---- */

static struct bytes cut(struct bytes b, size_t limit) {
  return (struct bytes){b.data, b.size < limit ? b.size : limit};
}

static struct bytes skip(struct bytes b, size_t count) {
  return (struct bytes){b.data + count, b.size - count};
}

static bool starts_with(struct bytes b, const char *prefix) {
  size_t size = strlen(prefix);
  return b.size >= size && strncasecmp((const char *)b.data, prefix, size) == 0;
}

/* What follows the first place where part stands, compared case-blind; data NULL: nowhere. */
static struct bytes after(struct bytes b, const char *part) {
  for (; b.size; b = skip(b, 1))
    if (starts_with(b, part)) return skip(b, strlen(part));
  return (struct bytes){NULL, 0};
}

static bool contains(struct bytes b, const char *part) {
  return !part || after(b, part).data;
}

/* A number of whole seconds at the start; negative: none. */
static double leading_seconds(struct bytes b, size_t *digits) {
  double value = 0;
  *digits = 0;
  while (*digits < b.size && b.data[*digits] >= '0' && b.data[*digits] <= '9')
    value = fmin(value * 10 + (b.data[(*digits)++] - '0'), LONGEST_WAIT);
  return *digits ? value : -1;
}

static bool is_named(struct bytes name, const char *wanted) {
  return name.size == strlen(wanted) && starts_with(name, wanted);
}

/* ---- how long to wait ---- */

static double wait_of(struct bytes value, double wall) {
  size_t digits;
  double seconds = leading_seconds(value, &digits);
  if (seconds >= 0 && digits == value.size) return seconds;
  double date = header_date(value);
  return date < 0 ? -1 : fmin(fmax(date - wall, 0), LONGEST_WAIT);
}

/* RateLimit-Reset, or the latest of RateLimit-<category>-Reset. */
static bool is_reset(struct bytes name) {
  static const char ending[] = "-reset";
  size_t size = sizeof ending - 1;
  return starts_with(name, "ratelimit-") && name.size >= size &&
         starts_with(skip(name, name.size - size), ending);
}

double outcome_retry_after(struct bytes headers, struct bytes text, double wall) {
  double retry = -1, reset = -1;
  struct bytes name, value;
  size_t digits;
  while (header_next(&headers, &name, &value)) {
    if (is_named(name, "retry-after")) retry = fmax(retry, wait_of(value, wall));
    if (is_reset(name)) reset = fmax(reset, leading_seconds(value, &digits));
  }
  if (retry >= 0) return retry;
  if (reset >= 0) return reset;
  return leading_seconds(after(cut(text, TEXT_LIMIT), "retry in "), &digits);
}

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
  struct bytes text = cut(x->text, TEXT_LIMIT);
  const struct status *row = find_row(x, text);
  struct verdict v = {.kind = row->kind, .outcome = outcome_said(x, row->outcome), .row = row};
  if (row->trait == TRAIT_BY_STATE) v.kind = kind_by_state(row, x->state);
  v.transient = v.kind == KIND_service || v.kind == KIND_timeout;
  v.retry_after = outcome_retry_after(x->headers, text, x->wall);
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

/* ---- another host ---- */

static bool is_host_byte(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == ':';
}

static bool ends_host(unsigned char c) {
  return c && strchr("/,;\"' )}]\\\r\n", c);
}

/* The base URL at the start of b: scheme and authority, and nothing odd behind. A user name would end at an
 * '@', so that what looks like the host is none: refused with everything else that is unexpected. */
static struct bytes base_url_at(struct bytes b, const char *scheme) {
  struct bytes none = {NULL, 0};
  size_t size = strlen(scheme);
  if (!starts_with(b, scheme)) return none;
  while (size < b.size && is_host_byte(b.data[size])) size++;
  if (size == strlen(scheme) || (size < b.size && !ends_host(b.data[size]))) return none;
  return cut(b, size);
}

static bool host_accepted(struct bytes url, const char *host) {
  if (strstr(host, "://")) return is_named(url, host);
  struct bytes authority = after(url, "https://");
  if (!starts_with(url, "https://")) return false;
  if (authority.size > 4 && is_named(skip(authority, authority.size - 4), ":443")) authority.size -= 4;
  if (*host != '.') return is_named(authority, host);
  size_t size = strlen(host);
  return authority.size > size && !memchr(authority.data, ':', authority.size) && *authority.data != '.' &&
         is_named(skip(authority, authority.size - size), host);
}

static bool take_url(struct bytes at, const char *const *hosts, struct buf *base_url) {
  struct bytes url = base_url_at(at, "https://");
  if (!url.data) url = base_url_at(at, "http://");
  for (; url.data && *hosts; hosts++) {
    if (!host_accepted(url, *hosts)) continue;
    buf_add(base_url, url.data, url.size);
    return buf_ok(base_url);
  }
  return false;
}

bool outcome_accepts(struct bytes address, const char *const *hosts, struct buf *base_url) {
  return take_url(cut(address, TEXT_LIMIT), hosts, base_url);
}

bool outcome_other_host(struct bytes headers, struct bytes text, const char *const *hosts,
                        struct buf *base_url) {
  struct bytes name, value, at = after(cut(text, TEXT_LIMIT), "base URL: ");
  if (at.data && take_url(at, hosts, base_url)) return true;
  while (header_next(&headers, &name, &value))
    if (is_named(name, "alt-svc") && starts_with(value, "h2=") && take_url(skip(value, 3), hosts, base_url))
      return true;
  return false;
}
