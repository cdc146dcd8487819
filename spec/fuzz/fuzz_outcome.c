/* Any status, headers and text: the verdict keeps to rule R1, and no wait is absurd. */
#include "http/other_host.h"
#include "http/outcome.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIXED = 6 };

static void require(bool fact) {
  if (!fact) abort();
}

static void check_verdict(const struct exchange *x, const struct verdict *v) {
  bool part = x->status == 205 || x->status == 206; /* no reply of this service: protocol */
  bool good = x->failure == HTTP_OK && x->status / 100 == 2 && !part && !x->unreadable;
  require(good == (v->kind == KIND_none));
  require((v->outcome == OUTCOME_NONE) == (good || !x->write));
  require(v->retry_after >= 0 && v->retry_after <= 30 * 24 * 3600);
  require(v->kind != KIND_rate_limited || x->status == 429);
  require(!v->page || !v->reason || x->proxied);
  if (x->failure != HTTP_OK && x->write) require((v->outcome == OUTCOME_UNKNOWN) == x->sent);
}

static void check_next(const struct exchange *x, const struct verdict *v, unsigned char facts) {
  struct history h = {x->write,       facts & 1,      facts & 2,  facts & 4,
                      facts >> 3 & 1, facts >> 4 & 1, facts >> 5, 30};
  double wait = -1;
  enum next next = outcome_next(v, &h, &wait);
  require(wait >= 0 && wait <= 5 && (wait == 0 || next == NEXT_REPEAT));
  if (next == NEXT_FAIL) return;
  require(v->kind != KIND_none && v->kind != KIND_rate_limited && v->kind != KIND_cancelled);
  require(!h.write || h.idempotent || v->outcome != OUTCOME_UNKNOWN);
  require(next != NEXT_REPEAT || h.repeats < 2);
}

static bool ends_with(struct bytes b, const char *ending) {
  size_t size = strlen(ending);
  return b.size >= size && strncasecmp((const char *)b.data + b.size - size, ending, size) == 0;
}

static void check_host(const struct exchange *x) {
  static const char *const hosts[] = {".example.com", NULL};
  struct buf url = BUF_INIT;
  if (other_host_named(x->headers, x->text, hosts, &url)) {
    require(strncasecmp(buf_text(&url), "https://", 8) == 0 && !memchr(url.data, '@', url.size));
    require(ends_with(buf_bytes(&url), ".example.com") || ends_with(buf_bytes(&url), ".example.com:443"));
  }
  buf_free(&url);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  if (size < FIXED) return 0;
  struct bytes rest = {data + FIXED, size - FIXED};
  size_t headers = rest.size ? data[4] * rest.size / 256 : 0;
  struct exchange x = {
      .failure = data[0] & 1 ? HTTP_OK : (enum http_failure)(data[0] / 2 % (HTTP_LOCAL + 1)),
      .status = data[1] * 4 + (data[2] & 3),
      .sent = data[2] & 4,
      .write = data[2] & 8,
      .unreadable = data[2] & 16,
      .headers = {rest.data, headers},
      .text = {rest.data + headers, rest.size - headers},
      .words = {rest.data + headers, rest.size - headers},
      .proxied = data[3] & 1,
      .state = (enum vehicle_state)(data[2] >> 5 & 3),
      .wall = data[3] * 1e7,
  };
  struct verdict v = outcome_judge(&x);
  check_verdict(&x, &v);
  check_next(&x, &v, data[5]);
  check_host(&x);
  return 0;
}
