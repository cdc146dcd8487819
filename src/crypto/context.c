#include "crypto/internal.h"

#include <openssl/crypto.h>
#include <openssl/obj_mac.h>
#include <stdlib.h>

static void crypto_free(struct crypto *c) {
  mac_drop_all(c);
  EVP_MAC_CTX_free(c->unkeyed);
  EC_GROUP_free(c->curve);
  EVP_MD_free(c->sha1);
  EVP_MD_free(c->sha256);
  EVP_CIPHER_free(c->aes128);
  EVP_CIPHER_free(c->aes256);
  random_pool_free(c->pool);
  free(c);
}

struct crypto *crypto_new(struct err *e) {
  struct crypto *c = calloc(1, sizeof *c);
  if (!c) return err_out_of_memory(e), NULL;
  c->references = 1;
  c->sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
  c->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  c->aes128 = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  c->aes256 = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  c->pool = random_pool_new();
  c->can_sign = openssl_ok(mac_fetch(c) && c->sha1 && c->sha256 && c->aes128) && mac_self_test(c);
  if (openssl_ok(c->sha256)) return c;
  crypto_free(c);
  return err_set(e, KIND_unsupported, "this system's OpenSSL refuses SHA-256: allow it in its configuration"),
         NULL;
}

const EC_GROUP *crypto_curve(struct crypto *c) {
  if (!c->curve) c->curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  return c->curve;
}

bool crypto_can_sign(const struct crypto *c, struct err *e) {
  return c->can_sign ||
         err_set(
             e, KIND_unsupported,
             "this system's OpenSSL refuses HMAC, SHA-1 or AES-128-GCM, which the vehicles' protocol needs: "
             "allow them in its configuration");
}

struct crypto *crypto_ref(struct crypto *c) {
  c->references++;
  return c;
}

void crypto_unref(struct crypto *c) {
  if (c && --c->references == 0) crypto_free(c);
}

const char *crypto_version(void) {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}
