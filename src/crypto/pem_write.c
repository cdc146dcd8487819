#include "crypto/internal.h"

#include <openssl/encoder.h>
#include <string.h>

static bool encode(const struct key *k, int selection, const char *structure, struct bytes passphrase,
                   struct buf *out, struct err *e) {
  unsigned char *text = NULL;
  size_t size = 0;
  OSSL_ENCODER_CTX *x = OSSL_ENCODER_CTX_new_for_pkey(k->pair, selection, "PEM", structure, NULL);
  bool ok =
      x && (passphrase.size == 0 || (OSSL_ENCODER_CTX_set_cipher(x, "AES-256-CBC", NULL) &&
                                     OSSL_ENCODER_CTX_set_passphrase(x, passphrase.data, passphrase.size)));
  ok = ok && OSSL_ENCODER_to_data(x, &text, &size);
  if (ok) buf_add(out, text, size);
  OPENSSL_clear_free(text, size);
  OSSL_ENCODER_CTX_free(x);
  return openssl_ok(ok) || err_set(e, KIND_service, "OpenSSL could not write the key");
}

enum { PEM_LINE = 48 }; /* bytes, 64 characters: RFC 7468 section 2 */

static void armour(struct bytes der, const char *label, struct buf *out) {
  buf_format(out, "-----BEGIN %s-----\n", label);
  for (size_t i = 0; i < der.size; i += PEM_LINE) {
    buf_base64(out, (struct bytes){der.data + i, der.size - i < PEM_LINE ? der.size - i : PEM_LINE});
    buf_put(out, '\n');
  }
  buf_format(out, "-----END %s-----\n", label);
}

/* SEC1 (RFC 5915), which every tool of this field reads. Written here, because OpenSSL 3.0 frees its copy of
 * the scalar without wiping it. */
static bool sec1_pem(const struct key *k, struct buf *out) {
  static const unsigned char head[] = {0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20};
  static const unsigned char middle[] = {0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
                                         0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00};
  unsigned char scalar[SCALAR_SIZE];
  struct buf der = BUF_INIT;
  bool ok = key_scalar(k, scalar);
  buf_add(&der, head, sizeof head);
  buf_add(&der, scalar, sizeof scalar);
  buf_add(&der, middle, sizeof middle);
  buf_add(&der, k->public, PUBLIC_SIZE);
  if (ok && buf_ok(&der)) armour(buf_bytes(&der), "EC PRIVATE KEY", out);
  ok = ok && buf_ok(&der) && buf_ok(out);
  buf_free(&der);
  wipe(scalar, sizeof scalar);
  return ok;
}

/* With a passphrase PKCS8, whose encryption is not MD5. */
bool key_private_pem(const struct key *k, struct bytes passphrase, struct buf *out, struct err *e) {
  if (passphrase.size) return encode(k, EVP_PKEY_KEYPAIR, "PrivateKeyInfo", passphrase, out, e);
  return sec1_pem(k, out) || err_set(e, KIND_service, "the key could not be written");
}

bool key_public_pem(const struct key *k, struct buf *out, struct err *e) {
  return encode(k, EVP_PKEY_PUBLIC_KEY, "SubjectPublicKeyInfo", (struct bytes){NULL, 0}, out, e);
}
