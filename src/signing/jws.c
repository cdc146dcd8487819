#include "signing/jws.h"

#include "crypto/schnorr.h"
#include "tables/rows.h"

#include <string.h>

enum { JWS_LIMIT = 1 << 20 };

bool jws_is_app(const char *app) {
  return *app &&
         strspn(app, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(app);
}

bool jws_claims(struct arena *a, struct node *claims, const struct key *k, const char *vin, const char *app,
                struct buf *out, struct err *e) {
  struct json_refusal why = {{NULL, 0}, {NULL, 0}};
  struct buf issuer = BUF_INIT, audience = BUF_INIT;
  buf_base64(&issuer, (struct bytes){key_public(k), PUBLIC_SIZE});
  buf_text_add(&audience, vendor_rows->jws_audience);
  if (vin)
    buf_format(&audience, ".vehicle.%s.%s", vin, app);
  else
    buf_format(&audience, ".fleet.%s", app);
  claims->type = NODE_OBJECT; /* a list with members is refused by its name */
  node_set(claims, "iss", node_text(a, buf_bytes(&issuer)));
  node_set(claims, "aud", node_text(a, buf_bytes(&audience)));
  node_sort(claims);
  bool ok = buf_ok(&issuer) && buf_ok(&audience) && !a->failed;
  if (!ok)
    err_out_of_memory(e);
  else if (!json_write(claims, "alert_types include_fields", out, &why))
    ok = err_set(e, KIND_invalid, "%.*s cannot be written as JSON (in '%.*s')", (int)why.what.size,
                 (const char *)why.what.data, (int)why.name.size, (const char *)why.name.data);
  buf_free(&issuer);
  buf_free(&audience);
  return ok;
}

bool jws_sign(const struct key *k, struct bytes claims, struct buf *token, struct err *e) {
  struct buf header = BUF_INIT;
  unsigned char signature[SCHNORR_SIZE];
  buf_format(&header, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", vendor_rows->jws_algorithm);
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

bool jws_has_algorithm(const struct jws *t, struct err *e) {
  struct arena a;
  arena_start(&a, JWS_LIMIT);
  const struct node *header = json_read(&a, buf_bytes(&t->header), NULL);
  const struct node *named = node_is(header, NODE_OBJECT) ? node_member(header, "alg") : NULL;
  bool right = node_is(named, NODE_TEXT) && bytes_equal(named->text, bytes_of(vendor_rows->jws_algorithm));
  if (!header)
    err_set(e, KIND_protocol, "the reply is not JSON that can be read");
  else if (!right)
    err_set(e, KIND_protocol, "the token is not signed with %s", vendor_rows->jws_algorithm);
  arena_end(&a);
  return right;
}

bool jws_verify(struct crypto *c, const struct jws *t, struct bytes public, struct err *e) {
  return schnorr_verify(c, t->input, public, buf_bytes(&t->signature)) ||
         err_set(e, KIND_protocol, "the token does not carry a signature of this key");
}
