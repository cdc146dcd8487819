#include "crypto/digest.h"

#include "crypto/internal.h"

bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]) {
  return openssl_ok(EVP_Digest(in.data, in.size, out, NULL, c->sha256, NULL) == 1);
}
