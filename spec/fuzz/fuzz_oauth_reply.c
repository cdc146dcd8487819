/* Any bytes as the body of a token reply: a pair is kept whole and can be stored, anything else leaves
 * nothing behind, and what was sent is not said again. The first byte chooses the status. */
#include "oauth/record.h"
#include "oauth/reply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void check_pair(struct token *t, double lifetime) {
  struct token_made made = {.now = {10, 1e9}, .lifetime = lifetime, .fence = 3};
  struct token again = {0};
  struct buf text = BUF_INIT;
  require(token_access_good(&t->access) && lifetime >= 0 && isfinite(lifetime));
  require(token_complete(t, NULL, &made));
  record_write(t, &text);
  require(buf_ok(&text) && record_read(buf_bytes(&text), &again));
  require(bytes_equal(buf_bytes(&again.access), buf_bytes(&t->access)));
  require(bytes_equal(buf_bytes(&again.refresh), buf_bytes(&t->refresh)) && again.order == 3);
  buf_free(&text);
  token_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int statuses[] = {200, 201, 400, 401, 403, 429, 500, 503};
  static const char secret[] = "canary secret";
  struct http_response r = {.failure = HTTP_OK, .sent = true};
  struct token_sent sent = {bytes_of("refresh_token=canary%20secret"), bytes_of(size & 1 ? "n" : NULL)};
  struct token t = {0};
  struct err e;
  err_clear(&e);
  double lifetime = 0;
  if (!size) return 0;
  r.status = statuses[data[0] % 8];
  buf_add(&r.body, data + 1, size - 1);
  enum token_end end = reply_read(&r, &sent, 1e9, &t, &lifetime, &e);
  require((end == TOKEN_ISSUED) == (e.kind == KIND_none));
  require(!strstr(e.message, secret) && !strstr(e.reason, secret));
  if (end == TOKEN_ISSUED)
    check_pair(&t, lifetime);
  else
    require(!t.access.size && !t.refresh.size);
  token_free(&t);
  buf_free(&r.body);
  return 0;
}
