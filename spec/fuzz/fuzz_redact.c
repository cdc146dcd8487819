/* A secret of four bytes or more, taken from the input itself, is never left in the text as it was. */
#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

static bool holds(struct bytes text, struct bytes part) {
  for (size_t i = 0; i + part.size <= text.size; i++)
    if (memcmp(text.data + i, part.data, part.size) == 0) return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t length = size > 0 ? data[0] : 0;
  if (length < 4 || size < length + 1) return 0;
  struct bytes secret = {data + 1, length}, list[] = {secret};
  struct buf out = BUF_INIT;
  redact(&out, (struct bytes){data + 1, size - 1}, list, 1);
  bool marks = holds(bytes_of("[redacted]Bearer [redacted]"), secret); /* or at the edge of one */
  for (size_t i = 0; i < length; i++) marks |= strchr("[]B", secret.data[i]) != NULL;
  if (buf_ok(&out) && !marks && holds(buf_bytes(&out), secret)) abort();
  buf_free(&out);
  return 0;
}
