/* Any bytes as text: what is repaired is UTF-8, and what is UTF-8 already stays as it is. */
#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static bool is_sound(struct bytes t) {
  for (size_t i = 0, n; i < t.size; i += n)
    if (!(n = utf8_sequence((struct bytes){t.data + i, t.size - i}))) return false;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes text = {data, size};
  struct buf out = BUF_INIT;
  utf8_repair(&out, text);
  if (buf_ok(&out)) {
    require(is_sound(buf_bytes(&out)));
    require(is_sound(text) == bytes_equal(buf_bytes(&out), text));
  }
  buf_free(&out);
  return 0;
}
