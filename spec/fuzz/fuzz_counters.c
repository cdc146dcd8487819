/* Any bytes as the counters of a record: read to their end or refused, and counted on without losing one. */
#include "store/counters.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static size_t count(struct bytes text) {
  struct counter c;
  struct err e;
  err_clear(&e);
  size_t lines = 0;
  while (counters_next(&text, &c, &e)) lines++;
  require((text.size == 0) == (e.kind == KIND_none));
  return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes text = {data, size};
  struct buf out = BUF_INIT, back = BUF_INIT;
  struct err e;
  err_clear(&e);
  struct counter own = {bytes_of("own~"), 1, 0};
  if (counters_add(&out, text, &own, 1, &e)) {
    size_t lines = count(buf_bytes(&out));
    require(lines >= 1 && lines <= count(text) + 1 && own.total <= COUNTER_LIMIT);
    own.amount = -1;
    int64_t total = own.total;
    require(counters_add(&back, buf_bytes(&out), &own, 1, &e) && own.total == total - 1);
    require(count(buf_bytes(&back)) == lines);
  } else {
    require(e.kind == KIND_store);
  }
  buf_free(&back);
  buf_free(&out);
  return 0;
}
