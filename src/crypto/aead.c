#include "crypto/aead.h"

#include "crypto/internal.h"

#include <string.h>

static const EVP_CIPHER *cipher_of(const struct crypto *c, struct bytes key) {
  if (key.size == AES128_SIZE) return c->aes128;
  return key.size == AES256_SIZE ? c->aes256 : NULL;
}

static bool cipher(struct crypto *c, EVP_CIPHER_CTX *x, bool seal, struct bytes key,
                   const unsigned char *nonce, struct bytes aad, struct bytes in, struct buf *out) {
  const EVP_CIPHER *algorithm = cipher_of(c, key);
  int size = 0;
  return algorithm && in.size < 1 << 24 && buf_reserve(out, in.size + 1) &&
         EVP_CipherInit_ex2(x, algorithm, key.data, nonce, seal, NULL) &&
         EVP_CipherUpdate(x, NULL, &size, aad.data, (int)aad.size) &&
         (in.size == 0 || EVP_CipherUpdate(x, out->data + out->size, &size, in.data, (int)in.size));
}

bool crypto_seal(struct crypto *c, struct bytes key, const unsigned char nonce[NONCE_SIZE], struct bytes aad,
                 struct bytes plain, struct buf *out, unsigned char tag[GCM_TAG_SIZE]) {
  EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
  unsigned char rest[GCM_TAG_SIZE];
  int size;
  bool ok = x && cipher(c, x, true, key, nonce, aad, plain, out) && EVP_CipherFinal_ex(x, rest, &size) &&
            EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, GCM_TAG_SIZE, tag) > 0;
  if (ok) out->size += plain.size, out->data[out->size] = '\0';
  EVP_CIPHER_CTX_free(x);
  return openssl_ok(ok);
}

/* The sizes are checked here: a short tag would otherwise be compared on its own length only. */
bool crypto_unseal(struct crypto *c, struct bytes key, struct bytes nonce, struct bytes aad, struct bytes in,
                   struct bytes tag, struct buf *out) {
  if (nonce.size != NONCE_SIZE || tag.size != GCM_TAG_SIZE) return false;
  unsigned char expected[GCM_TAG_SIZE], rest[GCM_TAG_SIZE];
  memcpy(expected, tag.data, sizeof expected);
  EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
  int size;
  bool ok = x && cipher(c, x, false, key, nonce.data, aad, in, out) &&
            EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_SET_TAG, GCM_TAG_SIZE, expected) > 0 &&
            EVP_CipherFinal_ex(x, rest, &size) > 0;
  if (ok)
    out->size += in.size, out->data[out->size] = '\0';
  else if (buf_ok(out) && out->data)
    wipe(out->data + out->size, out->capacity - out->size);
  EVP_CIPHER_CTX_free(x);
  return openssl_ok(ok);
}
