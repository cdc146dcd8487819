#include "crypto/digest.h"

#include "crypto/internal.h"

bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]) {
  return openssl_ok(EVP_Digest(in.data, in.size, out, NULL, c->sha256, NULL) == 1);
}

bool crypto_sha1(struct crypto *c, struct bytes in, unsigned char out[SHA1_SIZE]) {
  return openssl_ok(EVP_Digest(in.data, in.size, out, NULL, c->sha1, NULL) == 1);
}

bool crypto_sha1_alone(struct bytes in, unsigned char out[SHA1_SIZE]) {
  return openssl_ok(EVP_Digest(in.data, in.size, out, NULL, EVP_sha1(), NULL) == 1);
}
