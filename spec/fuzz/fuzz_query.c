/* Any query of a caller: what is written anew has no byte that means anything to a request line, says the
 * same when it is written once more, and is no longer than an escape for every byte. */
#include "http/query.h"

#include <stdlib.h>
#include <string.h>

static void require(bool fact) {
  if (!fact) abort();
}

static bool is_plain(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c && strchr("-._~%&=", c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct buf once = BUF_INIT, twice = BUF_INIT;
  bool good = query_rewrite((struct bytes){data, size}, &once);
  require(once.size <= 3 * size);
  for (size_t i = 0; i < once.size; i++) require(is_plain(once.data[i]));
  if (good) {
    require(query_rewrite(buf_bytes(&once), &twice));
    require(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
  }
  buf_free(&once);
  buf_free(&twice);
  return 0;
}
