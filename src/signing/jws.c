#include "signing/jws.h"

#include "crypto/schnorr.h"

#include <string.h>

bool jws_sign(const struct key *k, const char *algorithm, struct bytes claims, struct buf *token,
              struct err *e) {
  struct buf header = BUF_INIT;
  unsigned char signature[SCHNORR_SIZE];
  buf_format(&header, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", algorithm);
  buf_base64url(token, buf_bytes(&header));
  buf_put(token, '.');
  buf_base64url(token, claims);
  bool ok = buf_ok(&header) && buf_ok(token) && schnorr_sign(k, buf_bytes(token), signature);
  buf_free(&header);
  if (!ok) return err_set(e, KIND_service, "the token could not be signed");
  buf_put(token, '.');
  buf_base64url(token, (struct bytes){signature, sizeof signature});
  return buf_ok(token) || err_out_of_memory(e);
}

static bool next_part(struct bytes *rest, struct bytes *part, bool last) {
  const unsigned char *dot = rest->size ? memchr(rest->data, '.', rest->size) : NULL;
  if (last ? dot != NULL : dot == NULL) return false;
  size_t size = last ? rest->size : (size_t)(dot - rest->data);
  *part = (struct bytes){rest->data, size};
  if (!last) *rest = (struct bytes){dot + 1, rest->size - size - 1};
  return true;
}

bool jws_read(struct jws *t, struct bytes token, struct err *e) {
  struct bytes header, claims, signature, rest = token;
  *t = (struct jws){{NULL, 0}, BUF_INIT, BUF_INIT, BUF_INIT};
  bool ok = next_part(&rest, &header, false) && next_part(&rest, &claims, false) &&
            next_part(&rest, &signature, true) && buf_unbase64url(&t->header, header) &&
            buf_unbase64url(&t->claims, claims) && buf_unbase64url(&t->signature, signature);
  if (!ok) return err_set(e, KIND_protocol, "this is not a token of three base64url parts");
  t->input = (struct bytes){token.data, header.size + 1 + claims.size};
  return true;
}

void jws_free(struct jws *t) {
  buf_free(&t->header);
  buf_free(&t->claims);
  buf_free(&t->signature);
}

bool jws_verify(struct crypto *c, const struct jws *t, struct bytes public, struct err *e) {
  return schnorr_verify(c, t->input, public, buf_bytes(&t->signature)) ||
         err_set(e, KIND_protocol, "the token does not carry a signature of this key");
}
