#include "crypto/digest.h"
#include "crypto/internal.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

/* The encoded point of a key file may be compressed; the wire takes 04 X Y only. */
bool key_point(EVP_PKEY *pair, unsigned char public[PUBLIC_SIZE]) {
  BIGNUM *x = NULL, *y = NULL;
  bool ok = EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_EC_PUB_X, &x) &&
            EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_EC_PUB_Y, &y) &&
            BN_bn2binpad(x, public + 1, 32) == 32 && BN_bn2binpad(y, public + 33, 32) == 32;
  public[0] = 4;
  BN_free(x);
  BN_free(y);
  return ok;
}

static BIGNUM *scalar_of(EVP_PKEY *pair) {
  BIGNUM *d = BN_secure_new();
  if (d) BN_set_flags(d, BN_FLG_CONSTTIME);
  if (d && EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_PRIV_KEY, &d)) return d;
  BN_clear_free(d);
  return NULL;
}

struct key *key_of_pair(struct crypto *c, EVP_PKEY *pair, struct err *e) {
  struct key *k = crypto_can_sign(c, e) ? calloc(1, sizeof *k) : NULL;
  BIGNUM *scalar = k ? scalar_of(pair) : NULL;
  if (scalar && key_point(pair, k->public)) {
    k->references = 1;
    k->crypto = crypto_ref(c);
    k->pair = pair;
    k->scalar = scalar;
    return k;
  }
  BN_clear_free(scalar);
  free(k);
  EVP_PKEY_free(pair);
  if (crypto_can_sign(c, NULL)) err_set(e, KIND_invalid, "the private key has no usable public half");
  return openssl_ok(false), NULL;
}

struct key *key_generate(struct crypto *c, struct err *e) {
  EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  if (pair) return key_of_pair(c, pair, e);
  return openssl_ok(false), err_set(e, KIND_service, "OpenSSL made no key"), NULL;
}

static bool public_of(const EC_GROUP *g, const BIGNUM *d, unsigned char public[PUBLIC_SIZE]) {
  EC_POINT *p = g ? EC_POINT_new(g) : NULL;
  bool ok = p && !BN_is_zero(d) && BN_cmp(d, EC_GROUP_get0_order(g)) < 0 &&
            EC_POINT_mul(g, p, d, NULL, NULL, NULL) &&
            EC_POINT_point2oct(g, p, POINT_CONVERSION_UNCOMPRESSED, public, PUBLIC_SIZE, NULL) == PUBLIC_SIZE;
  EC_POINT_free(p);
  return ok;
}

static EVP_PKEY *pair_of(struct crypto *c, const BIGNUM *d) {
  unsigned char native[SCALAR_SIZE], public[PUBLIC_SIZE];
  EVP_PKEY *pair = NULL;
  EVP_PKEY_CTX *x = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"prime256v1", 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, public, sizeof public),
      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, native, sizeof native), OSSL_PARAM_construct_end()};
  bool ok = x && public_of(crypto_curve(c), d, public) &&
            BN_bn2nativepad(d, native, sizeof native) == sizeof native && EVP_PKEY_fromdata_init(x) > 0 &&
            EVP_PKEY_fromdata(x, &pair, EVP_PKEY_KEYPAIR, parameters) > 0;
  wipe(native, sizeof native);
  EVP_PKEY_CTX_free(x);
  return ok ? pair : NULL;
}

struct key *key_of_scalar(struct crypto *c, const unsigned char scalar[SCALAR_SIZE], struct err *e) {
  BIGNUM *d = BN_secure_new();
  if (d) BN_set_flags(d, BN_FLG_CONSTTIME);
  EVP_PKEY *pair = d && BN_bin2bn(scalar, SCALAR_SIZE, d) ? pair_of(c, d) : NULL;
  BN_clear_free(d);
  if (pair) return key_of_pair(c, pair, e);
  return openssl_ok(false), err_set(e, KIND_invalid, "the scalar is not a private key of the curve P-256"),
         NULL;
}

struct key *key_ref(struct key *k) {
  k->references++;
  return k;
}

void key_unref(struct key *k) {
  if (!k || --k->references > 0) return;
  EVP_PKEY_free(k->pair);
  BN_clear_free(k->scalar);
  crypto_unref(k->crypto);
  wipe(k, sizeof *k);
  free(k);
}

struct crypto *key_crypto(const struct key *k) {
  return k->crypto;
}

const unsigned char *key_public(const struct key *k) {
  return k->public;
}

bool key_scalar(const struct key *k, unsigned char scalar[SCALAR_SIZE]) {
  return openssl_ok(BN_bn2binpad(k->scalar, scalar, SCALAR_SIZE) == SCALAR_SIZE);
}

bool key_public_fingerprint(struct crypto *c, const unsigned char public[PUBLIC_SIZE], struct buf *hex) {
  static const unsigned char head[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                       0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                       0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
  unsigned char der[sizeof head + PUBLIC_SIZE], hash[HASH_SIZE];
  memcpy(der, head, sizeof head);
  memcpy(der + sizeof head, public, PUBLIC_SIZE);
  if (!crypto_sha256(c, (struct bytes){der, sizeof der}, hash)) return false;
  buf_hex(hex, (struct bytes){hash, sizeof hash});
  return buf_ok(hex);
}

bool key_fingerprint(const struct key *k, struct buf *hex) {
  return key_public_fingerprint(k->crypto, k->public, hex);
}
