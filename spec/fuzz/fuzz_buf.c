/* Text encodings read back: whatever decodes must encode to the same text, and numbers must survive being
 * written. */
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static void same(struct bytes in, bool (*decode)(struct buf *, struct bytes),
                 void (*encode)(struct buf *, struct bytes)) {
  struct buf raw = BUF_INIT, text = BUF_INIT;
  if (decode(&raw, in)) {
    encode(&text, buf_bytes(&raw));
    if (!bytes_equal(buf_bytes(&text), in)) abort();
  }
  buf_free(&raw);
  buf_free(&text);
}

static void hex_digits(struct bytes in) {
  struct buf raw = BUF_INIT, text = BUF_INIT;
  if (buf_unhex(&raw, in)) {
    buf_hex(&text, buf_bytes(&raw));
    if (text.size != in.size) abort();
  }
  buf_free(&raw);
  buf_free(&text);
}

static void number(const uint8_t *data, size_t size) {
  double value;
  struct buf text = BUF_INIT;
  if (size < sizeof value) return;
  memcpy(&value, data, sizeof value);
  if (buf_json_number(&text, value) && strtod(buf_text(&text), NULL) != value) abort();
  buf_free(&text);
}

static void strings(struct bytes in) {
  struct buf text = BUF_INIT;
  buf_json_string(&text, in);
  buf_percent(&text, in);
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < 0x20) abort();
  buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes in = {data, size};
  same(in, buf_unbase64, buf_base64);
  same(in, buf_unbase64url, buf_base64url);
  hex_digits(in);
  number(data, size);
  strings(in);
  return 0;
}
