#include "crypto/schnorr.h"

#include "crypto/digest.h"
#include "crypto/internal.h"
#include "crypto/mac.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <string.h>

/* What the arithmetic needs; made for one signature, since tokens are rare. */
struct curve {
  const EC_GROUP *group;
  BN_CTX *numbers;
  BN_MONT_CTX *mont; /* modulo the order */
  const BIGNUM *order;
};

static void curve_free(struct curve *c) {
  BN_MONT_CTX_free(c->mont);
  BN_CTX_free(c->numbers);
  ERR_clear_error();
}

static bool curve_new(struct curve *c, struct crypto *crypto) {
  c->group = crypto_curve(crypto);
  c->numbers = BN_CTX_secure_new();
  c->mont = BN_MONT_CTX_new();
  c->order = c->group ? EC_GROUP_get0_order(c->group) : NULL;
  return c->order && c->numbers && c->mont && BN_MONT_CTX_set(c->mont, c->order, c->numbers);
}

static BIGNUM *secret_number(const unsigned char bytes[SCALAR_SIZE]) {
  BIGNUM *n = BN_secure_new();
  if (n) BN_set_flags(n, BN_FLG_CONSTTIME);
  if (n && BN_bin2bn(bytes, SCALAR_SIZE, n)) return n;
  BN_clear_free(n);
  return NULL;
}

/* ---- RFC 6979 ---- */

struct drbg {
  struct crypto *crypto;
  unsigned char k[MAC_SIZE], v[MAC_SIZE];
};

static bool next_v(struct drbg *d) {
  unsigned char v[MAC_SIZE];
  bool ok = crypto_hmac_once(d->crypto, (struct bytes){d->k, MAC_SIZE}, (struct bytes){d->v, MAC_SIZE}, v);
  memcpy(d->v, v, MAC_SIZE);
  wipe(v, sizeof v);
  return ok;
}

/* K = HMAC(K, V || mark || seed), V = HMAC(K, V). */
static bool stir(struct drbg *d, unsigned char mark, struct bytes seed) {
  unsigned char data[MAC_SIZE + 1 + SCALAR_SIZE + HASH_SIZE], k[MAC_SIZE];
  memcpy(data, d->v, MAC_SIZE);
  data[MAC_SIZE] = mark;
  if (seed.size) memcpy(data + MAC_SIZE + 1, seed.data, seed.size);
  bool ok = crypto_hmac_once(d->crypto, (struct bytes){d->k, MAC_SIZE},
                             (struct bytes){data, MAC_SIZE + 1 + seed.size}, k);
  memcpy(d->k, k, MAC_SIZE);
  wipe(k, sizeof k);
  wipe(data, sizeof data);
  return ok && next_v(d);
}

static bool in_range(const struct curve *c, const unsigned char candidate[SCALAR_SIZE]) {
  BIGNUM *n = secret_number(candidate);
  bool ok = n && !BN_is_zero(n) && BN_cmp(n, c->order) < 0;
  BN_clear_free(n);
  return ok;
}

/* bits2octets: the digest reduced by the order; both have 256 bits. */
static bool reduce(const struct curve *c, const unsigned char digest[HASH_SIZE],
                   unsigned char out[SCALAR_SIZE]) {
  BIGNUM *n = BN_bin2bn(digest, HASH_SIZE, NULL);
  bool ok = n && BN_nnmod(n, n, c->order, c->numbers) && BN_bn2binpad(n, out, SCALAR_SIZE) == SCALAR_SIZE;
  BN_free(n);
  return ok;
}

static bool nonce_on(const struct curve *c, struct crypto *crypto, const unsigned char *scalar,
                     const unsigned char *digest, unsigned char nonce[SCALAR_SIZE]) {
  struct drbg d = {.crypto = crypto};
  unsigned char seed[SCALAR_SIZE + HASH_SIZE];
  struct bytes all = {seed, sizeof seed}, none = {NULL, 0};
  memset(d.v, 1, sizeof d.v);
  memcpy(seed, scalar, SCALAR_SIZE);
  bool ok = reduce(c, digest, seed + SCALAR_SIZE) && stir(&d, 0, all) && stir(&d, 1, all) && next_v(&d);
  while (ok && !in_range(c, d.v)) ok = stir(&d, 0, none) && next_v(&d);
  if (ok) memcpy(nonce, d.v, SCALAR_SIZE);
  wipe(seed, sizeof seed);
  wipe(&d, sizeof d);
  return ok;
}

bool schnorr_nonce(struct crypto *crypto, const unsigned char scalar[SCALAR_SIZE],
                   const unsigned char digest[HASH_SIZE], unsigned char nonce[SCALAR_SIZE]) {
  struct curve c = {0};
  bool ok = curve_new(&c, crypto) && nonce_on(&c, crypto, scalar, digest, nonce);
  curve_free(&c);
  return ok;
}

/* ---- Schnorr ---- */

static void add_part(struct buf *b, const void *data, size_t size) {
  buf_u32be(b, (uint32_t)size);
  buf_add(b, data, size);
}

/* c = SHA-256(L(G) L(V) L(A) L(m)), as a number modulo the order. */
static BIGNUM *challenge(const struct curve *c, struct crypto *crypto, const unsigned char v[PUBLIC_SIZE],
                         const unsigned char public[PUBLIC_SIZE], struct bytes message) {
  struct buf all = BUF_INIT;
  unsigned char g[PUBLIC_SIZE], hash[HASH_SIZE];
  BIGNUM *n = NULL;
  size_t size = EC_POINT_point2oct(c->group, EC_GROUP_get0_generator(c->group), POINT_CONVERSION_UNCOMPRESSED,
                                   g, sizeof g, c->numbers);
  add_part(&all, g, sizeof g);
  add_part(&all, v, PUBLIC_SIZE);
  add_part(&all, public, PUBLIC_SIZE);
  add_part(&all, message.data, message.size);
  if (size == sizeof g && buf_ok(&all) && crypto_sha256(crypto, buf_bytes(&all), hash))
    n = BN_bin2bn(hash, sizeof hash, NULL);
  if (n && !BN_nnmod(n, n, c->order, c->numbers)) BN_free(n), n = NULL;
  buf_free(&all);
  return n;
}

/* out = x * y modulo the order. */
static bool multiply(const struct curve *c, BIGNUM *out, const BIGNUM *x, const BIGNUM *y) {
  return BN_to_montgomery(out, x, c->mont, c->numbers) &&
         BN_mod_mul_montgomery(out, out, y, c->mont, c->numbers);
}

/* r = k - a c, computed as (k b - (a b) c) / b with a random b: no secret is multiplied by a known number
 * alone. */
static bool respond(const struct curve *c, BIGNUM *r, const BIGNUM *k, const BIGNUM *a, const BIGNUM *hash) {
  BIGNUM *b = BN_secure_new(), *ab = BN_secure_new(), *kb = BN_secure_new(), *inverse = BN_secure_new();
  bool ok = b && ab && kb && inverse && BN_priv_rand_range(b, c->order) && (!BN_is_zero(b) || BN_one(b));
  ok = ok && BN_mod_inverse(inverse, b, c->order, c->numbers) && multiply(c, ab, a, b) &&
       multiply(c, kb, k, b) && multiply(c, ab, ab, hash) && BN_mod_sub_quick(kb, kb, ab, c->order) &&
       multiply(c, r, kb, inverse);
  BN_clear_free(b);
  BN_clear_free(ab);
  BN_clear_free(kb);
  BN_clear_free(inverse);
  return ok;
}

static bool point_of(const struct curve *c, const BIGNUM *k, unsigned char out[PUBLIC_SIZE]) {
  EC_POINT *p = EC_POINT_new(c->group);
  bool ok = p && EC_POINT_mul(c->group, p, k, NULL, NULL, c->numbers) &&
            EC_POINT_point2oct(c->group, p, POINT_CONVERSION_UNCOMPRESSED, out, PUBLIC_SIZE, c->numbers) ==
                PUBLIC_SIZE;
  EC_POINT_clear_free(p);
  return ok;
}

static bool sign_on(const struct curve *c, const struct key *key, struct bytes message,
                    const unsigned char scalar[SCALAR_SIZE], unsigned char signature[SCHNORR_SIZE]) {
  struct crypto *crypto = key_crypto(key);
  unsigned char digest[HASH_SIZE], nonce[SCALAR_SIZE], v[PUBLIC_SIZE];
  BIGNUM *k = NULL, *a = NULL, *hash = NULL, *r = BN_secure_new();
  bool ok = r && crypto_sha256(crypto, message, digest) && nonce_on(c, crypto, scalar, digest, nonce) &&
            (k = secret_number(nonce)) && (a = secret_number(scalar)) && point_of(c, k, v) &&
            (hash = challenge(c, crypto, v, key_public(key), message)) && respond(c, r, k, a, hash) &&
            BN_bn2binpad(r, signature + 64, SCALAR_SIZE) == SCALAR_SIZE;
  if (ok) memcpy(signature, v + 1, 64);
  wipe(nonce, sizeof nonce);
  BN_clear_free(k);
  BN_clear_free(a);
  BN_clear_free(r);
  BN_free(hash);
  return ok;
}

bool schnorr_sign(const struct key *k, struct bytes message, unsigned char signature[SCHNORR_SIZE]) {
  struct curve c = {0};
  unsigned char scalar[SCALAR_SIZE];
  bool ok =
      curve_new(&c, key_crypto(k)) && key_scalar(k, scalar) && sign_on(&c, k, message, scalar, signature);
  wipe(scalar, sizeof scalar);
  curve_free(&c);
  return ok;
}

/* R = r G + c A must be the point whose coordinates the signature holds. */
static bool verify_on(const struct curve *c, struct crypto *crypto, struct bytes message, struct bytes public,
                      struct bytes signature) {
  unsigned char v[PUBLIC_SIZE] = {4}, found[PUBLIC_SIZE];
  memcpy(v + 1, signature.data, 64);
  EC_POINT *a = EC_POINT_new(c->group), *sum = EC_POINT_new(c->group);
  BIGNUM *r = BN_bin2bn(signature.data + 64, SCALAR_SIZE, NULL),
         *hash = challenge(c, crypto, v, public.data, message);
  bool ok = a && sum && r && hash && BN_cmp(r, c->order) < 0 &&
            EC_POINT_oct2point(c->group, a, public.data, public.size, c->numbers) &&
            EC_POINT_mul(c->group, sum, r, a, hash, c->numbers) && !EC_POINT_is_at_infinity(c->group, sum) &&
            EC_POINT_point2oct(c->group, sum, POINT_CONVERSION_UNCOMPRESSED, found, sizeof found,
                               c->numbers) == sizeof found &&
            memcmp(found, v, sizeof v) == 0;
  BN_free(r);
  BN_free(hash);
  EC_POINT_free(a);
  EC_POINT_free(sum);
  return ok;
}

bool schnorr_verify(struct crypto *crypto, struct bytes message, struct bytes public,
                    struct bytes signature) {
  struct curve c = {0};
  if (signature.size != SCHNORR_SIZE || public.size != PUBLIC_SIZE || public.data[0] != 4) return false;
  bool ok = curve_new(&c, crypto) && verify_on(&c, crypto, message, public, signature);
  curve_free(&c);
  return ok;
}
