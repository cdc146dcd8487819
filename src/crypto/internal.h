/* Shared by the files of this directory only: OpenSSL's own types. */
#ifndef FLEET_CRYPTO_INTERNAL_H
#define FLEET_CRYPTO_INTERNAL_H

#include "crypto/context.h"
#include "crypto/key.h"
#include "crypto/mac.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>

enum { KEPT_CONTEXTS = 32 };

struct kept_mac {
  uint64_t owner;
  EVP_MAC_CTX *context;
};

struct random_pool;

struct crypto {
  unsigned references;
  uint64_t last_owner;
  bool can_sign;
  EVP_MAC_CTX *unkeyed; /* HMAC-SHA256, from which those with a key are made */
  EVP_MD *sha1, *sha256;
  EVP_CIPHER *aes128, *aes256;
  EC_GROUP *curve;          /* P-256, when it was first needed */
  struct random_pool *pool; /* NULL where the kernel cannot empty it in a forked child */
  struct kept_mac kept[KEPT_CONTEXTS];
};

struct key {
  unsigned references;
  struct crypto *crypto;
  EVP_PKEY *pair;
  BIGNUM *scalar; /* of the pair, whose own copy libcrypto gives out slowly */
  unsigned char public[PUBLIC_SIZE];
};

/* OpenSSL queues errors per thread: unreported ones must not reach the host. */
static inline bool openssl_ok(bool ok) {
  if (!ok) ERR_clear_error();
  return ok;
}

struct random_pool *random_pool_new(void);
void random_pool_free(struct random_pool *p);

bool mac_fetch(struct crypto *c);
bool mac_self_test(struct crypto *c);
void mac_drop_all(struct crypto *c);

const EC_GROUP *crypto_curve(struct crypto *c); /* NULL: no memory */

/* Takes the pair, also when it fails. */
struct key *key_of_pair(struct crypto *c, EVP_PKEY *pair, struct err *e);
bool key_point(EVP_PKEY *pair, unsigned char public[PUBLIC_SIZE]); /* 04 X Y, also of a compressed point */

#endif
