/* Any bytes as WebSocket frames of a client: in one piece and byte by byte they give the same. */
#include "stream/frames.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 4096 };

/* What the bytes come to: a digest of the events. */
static uint64_t read_all(const uint8_t *data, size_t size, size_t piece) {
  struct frames f;
  uint64_t sum = 1469598103934665603u;
  frames_init(&f, LIMIT);
  for (size_t at = 0; at < size;) {
    size_t now = size - at < piece ? size - at : piece;
    unsigned char *copy = malloc(now), *left = copy;
    if (!copy) abort();
    memcpy(copy, data + at, now);
    at += now;
    struct frame_event event = {.type = FRAME_PONG};
    while (event.type != FRAME_MORE) {
      event = frames_take(&f, &left, &now);
      if (event.type == FRAME_MORE) break;
      sum = (sum ^ (uint64_t)event.type) * 1099511628211u;
      for (size_t i = 0; i < event.data.size; i++) sum = (sum ^ event.data.data[i]) * 1099511628211u;
      if (event.type == FRAME_MESSAGE && event.data.size > LIMIT) abort();
      if (event.type == FRAME_BAD) {
        if (!event.code || !event.data.size) abort();
        free(copy);
        frames_free(&f);
        return sum;
      }
    }
    free(copy);
  }
  frames_free(&f);
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 65536) return 0;
  uint64_t whole = read_all(data, size, size ? size : 1);
  if (read_all(data, size, 1) != whole || read_all(data, size, 7) != whole) abort();
  return 0;
}
