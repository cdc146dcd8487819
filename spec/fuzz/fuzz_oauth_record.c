/* Any bytes as a stored record, as the claims of a token, and as a JSON object: what is read can be written,
 * and is then read as the same. */
#include "base/json_object.h"
#include "oauth/record.h"
#include "oauth/reply.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void check_record(struct token *t) {
  struct now now = {5, 1e9};
  struct token again = {0};
  struct buf first = BUF_INIT, second = BUF_INIT;
  double left = 0;
  record_write(t, &first);
  require(object_whole(buf_bytes(&first)));
  if (t->access.size) { /* one without is read where it came from, and never written */
    require(record_read(buf_bytes(&first), &again));
    record_write(&again, &second);
    require(bytes_equal(buf_bytes(&first), buf_bytes(&second)));
  }
  token_choose(t, &now, buf_bytes(&t->access));
  require(!token_left(t, &now, &left) || isfinite(left));
  token_previous(t, &now);
  token_stale(t, &now);
  buf_free(&first);
  buf_free(&second);
  token_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes in = {data, size};
  struct token t = {0};
  struct buf out = BUF_INIT, claims = BUF_INIT;
  if (record_read(in, &t)) check_record(&t);
  if (reply_claims(&claims, in)) object_text(buf_bytes(&claims), "nonce", &out);
  object_text(in, "a", &out);
  object_number(in, "a");
  object_member(object_member(in, "a"), "b");
  token_free(&t);
  buf_free(&out);
  buf_free(&claims);
  return 0;
}
