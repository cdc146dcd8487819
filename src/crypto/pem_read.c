#include "crypto/internal.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

/* ---- key files ----
 *
 * The ordinary forms of a P-256 key, SEC1 and PKCS8 with or without the public half, are read here: OpenSSL's
 * decoders free their copies of the scalar without wiping them. Everything else is left to OpenSSL, to load
 * or to name. */

#define ID_P256 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07
#define ID_EC 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01
#define SCALAR_HEAD 0x02, 0x01, 0x01, 0x04, 0x20
#define PUBLIC_HEAD 0xa1, 0x44, 0x03, 0x42, 0x00

static const struct form { /* head, scalar, tail, public half if public */
  unsigned char head_size, tail_size;
  bool public;
  unsigned char head[36], tail[17];
} forms[] = {
    {7, 17, true, {0x30, 0x77, SCALAR_HEAD}, {0xa0, 0x0a, ID_P256, PUBLIC_HEAD}},
    {7, 12, false, {0x30, 0x31, SCALAR_HEAD}, {0xa0, 0x0a, ID_P256}},
    {36,
     5,
     true,
     {0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, ID_EC, ID_P256, 0x04, 0x6d, 0x30, 0x6b, SCALAR_HEAD},
     {PUBLIC_HEAD}},
    {35,
     0,
     false,
     {0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, ID_EC, ID_P256, 0x04, 0x27, 0x30, 0x25, SCALAR_HEAD},
     {0}},
};

static bool has_form(const struct form *f, struct bytes der) {
  size_t size = (size_t)f->head_size + SCALAR_SIZE + f->tail_size + (f->public ? PUBLIC_SIZE : 0);
  return der.size == size && memcmp(der.data, f->head, f->head_size) == 0 &&
         memcmp(der.data + f->head_size + SCALAR_SIZE, f->tail, f->tail_size) == 0;
}

/* The bytes of the first PEM block with this label; false when there is none or it is no base64. */
static bool unarmour(struct bytes pem, const char *label, struct buf *der) {
  char begin[48], end[48];
  struct buf body = BUF_INIT;
  snprintf(begin, sizeof begin, "-----BEGIN %s-----", label);
  snprintf(end, sizeof end, "-----END %s-----", label);
  const unsigned char *from = memmem(pem.data, pem.size, begin, strlen(begin));
  if (!from) return false;
  from += strlen(begin);
  const unsigned char *to = memmem(from, (size_t)(pem.data + pem.size - from), end, strlen(end));
  for (; to && from < to; from++)
    if (*from != '\n' && *from != '\r' && *from != ' ') buf_put(&body, *from);
  bool ok = to && buf_unbase64(der, buf_bytes(&body));
  buf_free(&body);
  return ok;
}

static bool mismatch(struct err *e) {
  return err_set(e, KIND_invalid, "the private and the public half of this key do not belong together");
}

/* NULL with no kind in e: not one of the ordinary forms. */
static struct key *parse_form(struct crypto *c, struct bytes der, struct err *e) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (!has_form(&forms[i], der)) continue;
    struct key *k = key_of_scalar(c, der.data + forms[i].head_size, e);
    if (!k || !forms[i].public || memcmp(k->public, der.data + der.size - PUBLIC_SIZE, PUBLIC_SIZE) == 0)
      return k;
    return mismatch(e), key_unref(k), NULL;
  }
  return NULL;
}

static struct key *parse_ordinary(struct crypto *c, struct bytes pem, struct err *e) {
  struct buf der = BUF_INIT;
  struct key *k = NULL;
  if (unarmour(pem, "EC PRIVATE KEY", &der) || unarmour(pem, "PRIVATE KEY", &der))
    k = parse_form(c, buf_bytes(&der), e);
  buf_free(&der);
  return k;
}

static int give_passphrase(char *out, int size, int writing, void *context) {
  const struct bytes *passphrase = context;
  (void)writing;
  if (passphrase->size == 0 || passphrase->size > (size_t)size) return -1;
  memcpy(out, passphrase->data, passphrase->size);
  return (int)passphrase->size;
}

static bool contains(struct bytes in, const char *part) {
  return in.size && memmem(in.data, in.size, part, strlen(part)) != NULL;
}

/* Which common mistake this text is. */
static void say_why(struct bytes pem, bool passphrase, struct err *e) {
  static const struct {
    const char *mark, *sentence;
  } mistakes[] = {
      {"BEGIN PUBLIC KEY", "this is a public key: the private key is needed (its file says BEGIN EC PRIVATE "
                           "KEY or BEGIN PRIVATE KEY)"},
      {"BEGIN CERTIFICATE", "this is a certificate: the private key of the application is needed"},
      {"BEGIN RSA", "this is an RSA key: the vehicles take keys of the curve P-256 (prime256v1) only"},
      {"BEGIN OPENSSH",
       "this is an OpenSSH key: convert it with `ssh-keygen -p -m PEM`, or make a P-256 key"},
  };
  if (contains(pem, "ENCRYPTED")) {
    err_set(e, KIND_invalid,
            passphrase ? "the passphrase does not open this key"
                       : "this key is encrypted: give its passphrase");
    return;
  }
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
    if (contains(pem, mistakes[i].mark)) {
      err_set(e, KIND_invalid, "%s", mistakes[i].sentence);
      return;
    }
  err_set(e, KIND_invalid, "this is not a private key in PEM form");
}

static bool is_p256(EVP_PKEY *pair, struct err *e) {
  char group[32] = "";
  size_t size;
  if (!EVP_PKEY_is_a(pair, "EC"))
    return err_set(e, KIND_invalid,
                   "this is an %s key: the vehicles take keys of the curve P-256 (prime256v1) only",
                   EVP_PKEY_get0_type_name(pair) ? EVP_PKEY_get0_type_name(pair) : "unknown");
  if (!EVP_PKEY_get_group_name(pair, group, sizeof group, &size) || strcmp(group, "prime256v1") != 0)
    return err_set(e, KIND_invalid, "this key is on the curve %s: the vehicles take P-256 (prime256v1) only",
                   group[0] ? group : "with explicit parameters");
  return true;
}

/* With halves that do not belong together no signature would be accepted. */
static bool is_pair(EVP_PKEY *pair, struct err *e) {
  EVP_PKEY_CTX *x = EVP_PKEY_CTX_new_from_pkey(NULL, pair, NULL);
  bool ok = x && EVP_PKEY_pairwise_check(x) == 1;
  EVP_PKEY_CTX_free(x);
  return ok || mismatch(e);
}

/* Whether there is a block with a private key's label, readable base64 and a SEQUENCE inside. Everything else
 * is kept away from the decoders, which try one format after the other. */
static bool has_private_block(struct bytes pem, struct bytes passphrase) {
  unsigned char *der = NULL;
  char *label = NULL;
  long size = 0;
  BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
  bool ok = in &&
            PEM_bytes_read_bio(&der, &size, &label, PEM_STRING_EVP_PKEY, in, give_passphrase, &passphrase) &&
            size > 0 && der[0] == (V_ASN1_SEQUENCE | V_ASN1_CONSTRUCTED);
  BIO_free(in);
  OPENSSL_clear_free(der, size > 0 ? (size_t)size : 0);
  OPENSSL_free(label);
  return ok;
}

static EVP_PKEY *read_private(struct bytes pem, struct bytes passphrase) {
  if (!has_private_block(pem, passphrase)) return NULL;
  BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
  EVP_PKEY *pair = in ? PEM_read_bio_PrivateKey(in, NULL, give_passphrase, &passphrase) : NULL;
  BIO_free(in);
  return pair;
}

static struct key *parse_other(struct crypto *c, struct bytes pem, struct bytes passphrase, struct err *e) {
  EVP_PKEY *pair = read_private(pem, passphrase);
  if (!pair) return openssl_ok(false), say_why(pem, passphrase.size > 0, e), NULL;
  if (is_p256(pair, e) && is_pair(pair, e)) return key_of_pair(c, pair, e);
  EVP_PKEY_free(pair);
  return openssl_ok(false), NULL;
}

enum { PEM_LIMIT = 1 << 16 };

struct key *key_parse(struct crypto *c, struct bytes pem, struct bytes passphrase, struct err *e) {
  struct err ordinary;
  err_clear(&ordinary);
  if (pem.size > PEM_LIMIT || !contains(pem, "-----BEGIN")) return say_why(pem, false, e), NULL;
  struct key *k = parse_ordinary(c, pem, &ordinary);
  if (k || ordinary.kind == KIND_none) return k ? k : parse_other(c, pem, passphrase, e);
  if (e) *e = ordinary;
  return NULL;
}

/* What is hosted in place of the public key: common mistakes, and the private key itself. */
static void say_why_not_public(struct bytes pem, struct err *e) {
  static const struct {
    const char *mark, *sentence;
  } mistakes[] = {
      {"PRIVATE KEY",
       "this is a private key: anyone who reads it can command the vehicles. Remove it from there, "
       "make a new key, and host the public half only"},
      {"BEGIN CERTIFICATE", "this is a certificate: the public half of the application's key is needed (its "
                            "file says BEGIN PUBLIC KEY)"},
      {"BEGIN RSA", "this is an RSA key: the vehicles take keys of the curve P-256 (prime256v1) only"},
      {"ssh-", "this is an OpenSSH key: the public half as PEM is needed (its file says BEGIN PUBLIC KEY)"},
  };
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
    if (contains(pem, mistakes[i].mark)) {
      err_set(e, KIND_invalid, "%s", mistakes[i].sentence);
      return;
    }
  err_set(e, KIND_invalid, "this is not a public key in PEM form (its file says BEGIN PUBLIC KEY)");
}

bool key_public_parse(struct bytes pem, unsigned char public[PUBLIC_SIZE], struct err *e) {
  bool private = contains(pem, "PRIVATE KEY"); /* also beside a public key */
  if (pem.size > PEM_LIMIT || private || !contains(pem, "-----BEGIN PUBLIC KEY-----"))
    return say_why_not_public(pem, e), false;
  BIO *in = BIO_new_mem_buf(pem.data, (int)pem.size);
  EVP_PKEY *half = in ? PEM_read_bio_PUBKEY(in, NULL, NULL, NULL) : NULL;
  BIO_free(in);
  if (!half) return openssl_ok(false), say_why_not_public(pem, e), false;
  bool ok = is_p256(half, e);
  if (ok && !key_point(half, public)) ok = err_set(e, KIND_invalid, "this public key holds no point");
  EVP_PKEY_free(half);
  return openssl_ok(ok);
}
