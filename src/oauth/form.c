#include "oauth/form.h"

#include <string.h>

/* A space becomes %20, which readers of forms and of queries accept. */
void form_add(struct buf *out, const char *name, struct bytes value) {
  if (!value.data) return;
  if (out->size) buf_put(out, '&');
  buf_percent(out, bytes_of(name));
  buf_put(out, '=');
  buf_percent(out, value);
}

static int hex_digit(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static bool decode(struct buf *out, struct bytes in) {
  for (size_t i = 0; i < in.size; i++) {
    if (in.data[i] != '%') {
      buf_put(out, in.data[i] == '+' ? ' ' : in.data[i]);
      continue;
    }
    int high = i + 2 < in.size ? hex_digit(in.data[i + 1]) : -1,
        low = i + 2 < in.size ? hex_digit(in.data[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    buf_put(out, (unsigned char)(high << 4 | low));
    i += 2;
  }
  return buf_ok(out);
}

/* Cuts the part before the separator from rest. */
static struct bytes split(struct bytes *rest, char separator) {
  const unsigned char *at = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
  struct bytes part = {rest->data, at ? (size_t)(at - rest->data) : rest->size};
  size_t passed = part.size + (at ? 1 : 0);
  *rest = passed ? (struct bytes){rest->data + passed, rest->size - passed} : (struct bytes){rest->data, 0};
  return part;
}

static bool is_named(struct bytes encoded, const char *name) {
  struct buf decoded = BUF_INIT;
  bool same = decode(&decoded, encoded) && bytes_equal(buf_bytes(&decoded), bytes_of(name));
  buf_free(&decoded);
  return same;
}

/* A name must come once (RFC 6749 section 3.1): of two values each reader may take another. */
bool form_field(struct bytes form, const char *name, struct buf *value, struct err *e) {
  bool found = false;
  while (form.size) {
    struct bytes pair = split(&form, '&'), key = split(&pair, '=');
    if (!is_named(key, name)) continue;
    if (found) return err_set(e, KIND_protocol, "the address names '%s' twice", name);
    if (!decode(value, pair))
      return err_set(e, KIND_protocol, "the value of '%s' in the address is badly encoded", name);
    found = true;
  }
  return found;
}
