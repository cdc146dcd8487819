#include "http/query.h"

#include <string.h>

static int digit(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte at the start and how many bytes encode it; -1: none that is allowed. */
static int decoded(struct bytes in, size_t *used) {
  int byte = in.data[0] == '+' ? ' ' : in.data[0];
  *used = 1;
  if (in.data[0] == '%') {
    int high = in.size > 2 ? digit(in.data[1]) : -1, low = high < 0 ? -1 : digit(in.data[2]);
    byte = low < 0 ? -1 : high * 16 + low;
    *used = 3;
  }
  return byte < ' ' || byte == 127 ? -1 : byte;
}

static bool rewrite_part(struct bytes in, struct buf *out) {
  for (size_t used; in.size; in.data += used, in.size -= used) {
    int byte = decoded(in, &used);
    unsigned char plain = (unsigned char)byte;
    if (byte < 0) return false;
    buf_percent(out, (struct bytes){&plain, 1});
  }
  return true;
}

static bool rewrite_field(struct bytes in, struct buf *out) {
  const unsigned char *equals = memchr(in.data, '=', in.size);
  size_t name = equals ? (size_t)(equals - in.data) : in.size;
  if (!rewrite_part((struct bytes){in.data, name}, out)) return false;
  if (!equals) return true;
  buf_put(out, '=');
  return rewrite_part((struct bytes){equals + 1, in.size - name - 1}, out);
}

bool query_rewrite(struct bytes in, struct buf *out) {
  bool first = true;
  while (in.size) {
    const unsigned char *end = memchr(in.data, '&', in.size);
    size_t size = end ? (size_t)(end - in.data) : in.size, step = end ? size + 1 : size;
    if (size && !first) buf_put(out, '&');
    if (size && !rewrite_field((struct bytes){in.data, size}, out)) return false;
    first = first && !size;
    in.data += step;
    in.size -= step;
  }
  return true;
}
