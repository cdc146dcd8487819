#include "crypto/digest.h"
#include "crypto/internal.h"

#include <string.h>

/* The secret that two keys share (SEC 1 section 3.3.1). EVP_PKEY_derive uses the same multiplication, also in
 * constant time. It needs a key object and a context first, which costs an eighth more. */

/* Refuses a point that is not on the curve: it would reveal the scalar bit by bit. */
static EC_POINT *point_of(const EC_GROUP *g, struct bytes peer) {
  if (!g || peer.size != PUBLIC_SIZE || peer.data[0] != POINT_CONVERSION_UNCOMPRESSED) return NULL;
  EC_POINT *p = EC_POINT_new(g);
  if (p && EC_POINT_oct2point(g, p, peer.data, peer.size, NULL)) return p;
  EC_POINT_free(p);
  return NULL;
}

static bool is_point(struct crypto *c, struct bytes peer) {
  EC_POINT *p = point_of(crypto_curve(c), peer);
  EC_POINT_free(p);
  return openssl_ok(p != NULL);
}

bool key_accepts(const struct key *k, struct bytes peer) {
  return is_point(k->crypto, peer);
}

bool key_public_read(struct crypto *c, struct bytes given, unsigned char public[PUBLIC_SIZE], struct err *e) {
  struct buf raw = BUF_INIT;
  bool hex = given.size == 2 * (size_t)PUBLIC_SIZE && buf_unhex(&raw, given);
  struct bytes point = hex ? buf_bytes(&raw) : given;
  bool ok = point.size == PUBLIC_SIZE;
  if (!ok)
    ok = key_public_parse(given, public, e);
  else if (is_point(c, point))
    memcpy(public, point.data, PUBLIC_SIZE);
  else
    ok = err_set(e, KIND_invalid, "these %d bytes are no public key of P-256", (int)PUBLIC_SIZE);
  buf_free(&raw);
  return ok;
}

static bool derive(const struct key *k, const EC_GROUP *g, const EC_POINT *peer,
                   unsigned char x[SCALAR_SIZE]) {
  EC_POINT *product = EC_POINT_new(g);
  BIGNUM *shared = BN_secure_new();
  BN_CTX *numbers = BN_CTX_secure_new();
  bool ok = product && shared && numbers && EC_POINT_mul(g, product, NULL, peer, k->scalar, numbers) &&
            EC_POINT_get_affine_coordinates(g, product, shared, NULL, numbers) &&
            BN_bn2binpad(shared, x, SCALAR_SIZE) == SCALAR_SIZE;
  BN_CTX_free(numbers);
  BN_clear_free(shared);
  EC_POINT_clear_free(product);
  return ok;
}

bool key_shared(const struct key *k, struct bytes peer, unsigned char shared[SHARED_SIZE], struct err *e) {
  unsigned char x[SCALAR_SIZE], hash[SHA1_SIZE];
  const EC_GROUP *g = crypto_curve(k->crypto);
  EC_POINT *p = point_of(g, peer);
  if (!p)
    return openssl_ok(false),
           err_set(e, KIND_protocol,
                   "the other side's public key is not a point of P-256 in its 65-byte form");
  bool ok = derive(k, g, p, x) && crypto_sha1(k->crypto, (struct bytes){x, sizeof x}, hash);
  if (ok) memcpy(shared, hash, SHARED_SIZE);
  EC_POINT_free(p);
  wipe(x, sizeof x);
  wipe(hash, sizeof hash);
  return openssl_ok(ok) || err_set(e, KIND_service, "OpenSSL derived no shared secret");
}
