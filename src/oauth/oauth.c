#include "oauth/oauth.h"

#include "crypto/digest.h"

#include <string.h>

bool oauth_challenge(struct crypto *c, struct buf *out, struct bytes verifier, struct err *e) {
  unsigned char hash[HASH_SIZE];
  if (!crypto_sha256(c, verifier, hash)) return err_set(e, KIND_service, "OpenSSL made no SHA-256");
  buf_base64url(out, (struct bytes){hash, sizeof hash});
  return buf_ok(out) || err_out_of_memory(e);
}

/* ---- forms ---- */

/* Spaces as %20, which every reader of forms and queries takes. */
void oauth_form(struct buf *out, const struct oauth_pair *pairs, size_t count) {
  bool first = true;
  for (size_t i = 0; i < count; i++) {
    if (!pairs[i].value.data) continue;
    if (!first) buf_put(out, '&');
    first = false;
    buf_percent(out, bytes_of(pairs[i].name));
    buf_put(out, '=');
    buf_percent(out, pairs[i].value);
  }
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

/* The part of rest up to the separator; rest goes on behind it. */
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

/* Twice the same name is how one reader is made to see another value than the next (RFC 6749 section 3.1). */
bool oauth_field(struct bytes query, const char *name, struct buf *value, struct err *e) {
  bool found = false;
  while (query.size) {
    struct bytes pair = split(&query, '&'), key = split(&pair, '=');
    if (!is_named(key, name)) continue;
    if (found) return err_set(e, KIND_protocol, "the address names '%s' twice", name);
    if (!decode(value, pair))
      return err_set(e, KIND_protocol, "the value of '%s' in the address is badly encoded", name);
    found = true;
  }
  return found;
}

/* ---- tokens ---- */

bool oauth_claims(struct buf *json, struct bytes token) {
  size_t before = json->size;
  struct bytes rest = token;
  split(&rest, '.');
  struct bytes payload = split(&rest, '.');
  if (!payload.size || !rest.size || memchr(rest.data, '.', rest.size)) return false;
  return buf_unbase64url(json, payload) && json->size > before && json->data[before] == '{';
}

enum token_choice oauth_choose(const struct token_facts *f) {
  enum token_choice renewed = f->refresh ? TOKEN_REFRESH : TOKEN_LOGIN;
  if (!f->access || f->rejected) return renewed;
  if (f->expires_at == 0 || f->wall < f->saved_at) return TOKEN_USE;
  double left = f->expires_at - f->wall;
  if (left > f->margin) return TOKEN_USE;
  return left > 0 && !f->refresh ? TOKEN_USE : renewed;
}
