#include "crypto/key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the algorithms ---- */

enum { KEPT_CONTEXTS = 32, POOL_BYTES = 4096 };

struct kept {
  uint64_t owner;
  EVP_MAC_CTX *context;
};

/* Random bytes drawn in advance: one call of the generator costs more than a whole signature. */
struct pool {
  size_t left;
  unsigned char bytes[POOL_BYTES - sizeof(size_t)];
};

struct crypto {
  unsigned references;
  uint64_t last_owner;
  EVP_MAC *hmac;
  EVP_MD *sha1, *sha256;
  EVP_CIPHER *gcm;
  struct pool *pool; /* NULL where the kernel cannot empty it in a forked child */
  struct kept kept[KEPT_CONTEXTS];
};

/* OpenSSL queues its errors per thread; what we do not report must not surprise the host. */
static bool quiet(bool ok) {
  if (!ok) ERR_clear_error();
  return ok;
}

/* A forked child must not hand out the bytes of its parent: the page is empty there, and left = 0 means draw
 * anew. */
static struct pool *pool_new(void) {
#ifdef MADV_WIPEONFORK
  void *page = mmap(NULL, sizeof(struct pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, sizeof(struct pool), MADV_WIPEONFORK) == 0) return page;
  munmap(page, sizeof(struct pool));
#endif
  return NULL;
}

static void pool_free(struct pool *p) {
  if (!p) return;
  wipe(p, sizeof *p);
  munmap(p, sizeof *p);
}

bool crypto_random(struct crypto *c, void *out, size_t size, struct err *e) {
  struct pool *p = c->pool;
  bool direct = !p || size > sizeof p->bytes / 4;
  if (direct && quiet(RAND_bytes(out, (int)size) == 1)) return true;
  if (!direct && p->left < size)
    p->left = quiet(RAND_bytes(p->bytes, sizeof p->bytes) == 1) ? sizeof p->bytes : 0;
  if (direct || p->left < size) return err_set(e, KIND_service, "the system gave no random bytes");
  p->left -= size;
  memcpy(out, p->bytes + p->left, size);
  wipe(p->bytes + p->left, size);
  return true;
}

bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]) {
  return quiet(EVP_Digest(in.data, in.size, out, NULL, c->sha256, NULL) == 1);
}

static EVP_MAC_CTX *keyed(struct crypto *c, struct bytes key) {
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                             OSSL_PARAM_construct_end()};
  static const unsigned char nothing;
  EVP_MAC_CTX *context = EVP_MAC_CTX_new(c->hmac);
  if (context && EVP_MAC_init(context, key.size ? key.data : &nothing, key.size, parameters)) return context;
  EVP_MAC_CTX_free(context);
  return NULL;
}

static bool finish(EVP_MAC_CTX *context, struct bytes head, struct bytes body, unsigned char tag[MAC_SIZE]) {
  size_t size;
  return EVP_MAC_update(context, head.data, head.size) && EVP_MAC_update(context, body.data, body.size) &&
         EVP_MAC_final(context, tag, &size, MAC_SIZE) && size == MAC_SIZE;
}

uint64_t crypto_owner(struct crypto *c) {
  return ++c->last_owner;
}

static struct kept *kept_of(struct crypto *c, uint64_t owner) {
  return &c->kept[owner % KEPT_CONTEXTS];
}

static void drop_kept(struct kept *s) {
  EVP_MAC_CTX_free(s->context);
  *s = (struct kept){0, NULL};
}

void crypto_forget(struct crypto *c, uint64_t owner) {
  struct kept *s = kept_of(c, owner);
  if (s->owner == owner) drop_kept(s);
}

/* Re-arming a keyed context without naming its key again is four times cheaper than keying a new one. */
bool crypto_hmac(struct crypto *c, uint64_t owner, const unsigned char key[MAC_SIZE], struct bytes head,
                 struct bytes body, unsigned char tag[MAC_SIZE]) {
  struct kept *s = kept_of(c, owner), once = {0, NULL};
  if (!owner) s = &once;
  bool ready = owner && s->owner == owner && EVP_MAC_init(s->context, NULL, 0, NULL);
  if (!ready) {
    drop_kept(s);
    *s = (struct kept){owner, keyed(c, (struct bytes){key, MAC_SIZE})};
  }
  bool ok = s->context && finish(s->context, head, body, tag);
  if (!ok || !owner) drop_kept(s);
  return quiet(ok);
}

bool crypto_hmac_once(struct crypto *c, struct bytes key, struct bytes data, unsigned char tag[MAC_SIZE]) {
  EVP_MAC_CTX *context = keyed(c, key);
  bool ok = context && finish(context, data, (struct bytes){NULL, 0}, tag);
  EVP_MAC_CTX_free(context);
  return quiet(ok);
}

static bool cipher(struct crypto *c, EVP_CIPHER_CTX *x, bool seal, const unsigned char *key,
                   const unsigned char *nonce, struct bytes aad, struct bytes in, struct buf *out) {
  int size = 0;
  return buf_reserve(out, in.size + 1) && in.size < 1 << 24 &&
         EVP_CipherInit_ex2(x, c->gcm, key, nonce, seal, NULL) &&
         EVP_CipherUpdate(x, NULL, &size, aad.data, (int)aad.size) &&
         (in.size == 0 || EVP_CipherUpdate(x, out->data + out->size, &size, in.data, (int)in.size));
}

bool crypto_seal(struct crypto *c, const unsigned char key[SHARED_SIZE],
                 const unsigned char nonce[NONCE_SIZE], struct bytes aad, struct bytes plain, struct buf *out,
                 unsigned char tag[GCM_TAG_SIZE]) {
  EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new();
  unsigned char rest[GCM_TAG_SIZE];
  int size;
  bool ok = x && cipher(c, x, true, key, nonce, aad, plain, out) && EVP_CipherFinal_ex(x, rest, &size) &&
            EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_AEAD_GET_TAG, GCM_TAG_SIZE, tag) > 0;
  if (ok) out->size += plain.size, out->data[out->size] = '\0';
  EVP_CIPHER_CTX_free(x);
  return quiet(ok);
}

/* The sizes are checked here: a short tag would otherwise be compared on its own length only. */
bool crypto_unseal(struct crypto *c, const unsigned char key[SHARED_SIZE], struct bytes nonce,
                   struct bytes aad, struct bytes in, struct bytes tag, struct buf *out) {
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
  else if (buf_ok(out))
    wipe(out->data + out->size, out->capacity - out->size);
  EVP_CIPHER_CTX_free(x);
  return quiet(ok);
}

/* RFC 4231 test case 2, twice on one context: some releases of OpenSSL 3.0 lost the key when re-armed. */
static bool self_test(struct crypto *c) {
  static const unsigned char expected[MAC_SIZE] = {
      0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
      0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
  unsigned char tag[MAC_SIZE];
  struct bytes data = bytes_of("what do ya want for nothing?"), none = {NULL, 0};
  EVP_MAC_CTX *context = keyed(c, bytes_of("Jefe"));
  bool ok = context && finish(context, data, none, tag) && memcmp(tag, expected, MAC_SIZE) == 0 &&
            EVP_MAC_init(context, NULL, 0, NULL) && finish(context, data, none, tag) &&
            memcmp(tag, expected, MAC_SIZE) == 0;
  EVP_MAC_CTX_free(context);
  return quiet(ok);
}

static void crypto_free(struct crypto *c) {
  for (int i = 0; i < KEPT_CONTEXTS; i++) drop_kept(&c->kept[i]);
  EVP_MAC_free(c->hmac);
  EVP_MD_free(c->sha1);
  EVP_MD_free(c->sha256);
  EVP_CIPHER_free(c->gcm);
  pool_free(c->pool);
  free(c);
}

struct crypto *crypto_new(struct err *e) {
  struct crypto *c = calloc(1, sizeof *c);
  if (!c) return err_out_of_memory(e), NULL;
  c->references = 1;
  c->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  c->sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
  c->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  c->gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  c->pool = pool_new();
  if (quiet(c->hmac && c->sha1 && c->sha256 && c->gcm) && self_test(c)) return c;
  crypto_free(c);
  err_set(e, KIND_unsupported,
          "this system's OpenSSL refuses HMAC, SHA-1, SHA-256 or AES-128-GCM, which the vehicles' protocol "
          "needs: "
          "allow them in its configuration");
  return NULL;
}

struct crypto *crypto_ref(struct crypto *c) {
  c->references++;
  return c;
}

void crypto_unref(struct crypto *c) {
  if (c && --c->references == 0) crypto_free(c);
}

/* ---- keys ---- */

struct key {
  unsigned references;
  struct crypto *crypto;
  EVP_PKEY *pair;
  unsigned char public[PUBLIC_SIZE];
};

/* The encoded point of a key file may be compressed; the wire takes 04 X Y only. */
static bool read_public(EVP_PKEY *pair, unsigned char public[PUBLIC_SIZE]) {
  BIGNUM *x = NULL, *y = NULL;
  bool ok = EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_EC_PUB_X, &x) &&
            EVP_PKEY_get_bn_param(pair, OSSL_PKEY_PARAM_EC_PUB_Y, &y) &&
            BN_bn2binpad(x, public + 1, 32) == 32 && BN_bn2binpad(y, public + 33, 32) == 32;
  public[0] = 4;
  BN_free(x);
  BN_free(y);
  return ok;
}

static struct key *key_new(struct crypto *c, EVP_PKEY *pair, struct err *e) {
  struct key *k = calloc(1, sizeof *k);
  if (k && read_public(pair, k->public)) {
    k->references = 1;
    k->crypto = crypto_ref(c);
    k->pair = pair;
    return k;
  }
  free(k);
  EVP_PKEY_free(pair);
  return quiet(false), err_set(e, KIND_invalid, "the private key has no usable public half"), NULL;
}

struct key *key_generate(struct crypto *c, struct err *e) {
  EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  if (pair) return key_new(c, pair, e);
  return quiet(false), err_set(e, KIND_service, "OpenSSL made no key"), NULL;
}

static bool public_of(const BIGNUM *d, unsigned char public[PUBLIC_SIZE]) {
  EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_POINT *p = g ? EC_POINT_new(g) : NULL;
  bool ok = p && !BN_is_zero(d) && BN_cmp(d, EC_GROUP_get0_order(g)) < 0 &&
            EC_POINT_mul(g, p, d, NULL, NULL, NULL) &&
            EC_POINT_point2oct(g, p, POINT_CONVERSION_UNCOMPRESSED, public, PUBLIC_SIZE, NULL) == PUBLIC_SIZE;
  EC_POINT_free(p);
  EC_GROUP_free(g);
  return ok;
}

static EVP_PKEY *pair_of(const BIGNUM *d) {
  unsigned char native[SCALAR_SIZE], public[PUBLIC_SIZE];
  EVP_PKEY *pair = NULL;
  EVP_PKEY_CTX *x = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"prime256v1", 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, public, sizeof public),
      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, native, sizeof native), OSSL_PARAM_construct_end()};
  bool ok = x && public_of(d, public) && BN_bn2nativepad(d, native, sizeof native) == sizeof native &&
            EVP_PKEY_fromdata_init(x) > 0 && EVP_PKEY_fromdata(x, &pair, EVP_PKEY_KEYPAIR, parameters) > 0;
  wipe(native, sizeof native);
  EVP_PKEY_CTX_free(x);
  return ok ? pair : NULL;
}

struct key *key_of_scalar(struct crypto *c, const unsigned char scalar[SCALAR_SIZE], struct err *e) {
  BIGNUM *d = BN_secure_new();
  if (d) BN_set_flags(d, BN_FLG_CONSTTIME);
  EVP_PKEY *pair = d && BN_bin2bn(scalar, SCALAR_SIZE, d) ? pair_of(d) : NULL;
  BN_clear_free(d);
  if (pair) return key_new(c, pair, e);
  return quiet(false), err_set(e, KIND_invalid, "the scalar is not a private key of the curve P-256"), NULL;
}

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

/* Which of the usual mistakes this text is. */
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

/* A file whose two halves do not belong together would sign what nobody accepts. */
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
  if (!pair) return quiet(false), say_why(pem, passphrase.size > 0, e), NULL;
  if (is_p256(pair, e) && is_pair(pair, e)) return key_new(c, pair, e);
  EVP_PKEY_free(pair);
  return quiet(false), NULL;
}

enum { PEM_LIMIT = 1 << 16 };

struct key *key_parse(struct crypto *c, struct bytes pem, struct bytes passphrase, struct err *e) {
  struct err ordinary = ERR_INIT;
  if (pem.size > PEM_LIMIT || !contains(pem, "-----BEGIN")) return say_why(pem, false, e), NULL;
  struct key *k = parse_ordinary(c, pem, &ordinary);
  if (k || ordinary.kind == KIND_none) return k ? k : parse_other(c, pem, passphrase, e);
  if (e) *e = ordinary;
  return NULL;
}

/* What is hosted in place of the public key: the usual mistakes, and the one that gives the fleet away. */
static void say_why_not_public(struct bytes pem, struct err *e) {
  static const struct {
    const char *mark, *sentence;
  } mistakes[] = {
      {"PRIVATE KEY",
       "this is a private key: whoever reads it can command the vehicles. Remove it from there, "
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
  if (!half) return quiet(false), say_why_not_public(pem, e), false;
  bool ok = is_p256(half, e);
  if (ok && !read_public(half, public)) ok = err_set(e, KIND_invalid, "this public key holds no point");
  EVP_PKEY_free(half);
  return quiet(ok);
}

struct key *key_ref(struct key *k) {
  k->references++;
  return k;
}

void key_unref(struct key *k) {
  if (!k || --k->references > 0) return;
  EVP_PKEY_free(k->pair);
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
  BIGNUM *d = NULL;
  bool ok = EVP_PKEY_get_bn_param(k->pair, OSSL_PKEY_PARAM_PRIV_KEY, &d) &&
            BN_bn2binpad(d, scalar, SCALAR_SIZE) == SCALAR_SIZE;
  BN_clear_free(d);
  return quiet(ok);
}

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
  return quiet(ok) || err_set(e, KIND_service, "OpenSSL could not write the key");
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

bool key_fingerprint(const struct key *k, struct buf *hex) {
  static const unsigned char head[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
                                       0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
                                       0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
  unsigned char der[sizeof head + PUBLIC_SIZE], hash[HASH_SIZE];
  memcpy(der, head, sizeof head);
  memcpy(der + sizeof head, k->public, PUBLIC_SIZE);
  if (!crypto_sha256(k->crypto, (struct bytes){der, sizeof der}, hash)) return false;
  buf_hex(hex, (struct bytes){hash, sizeof hash});
  return buf_ok(hex);
}

/* ---- ECDH ---- */

/* The point is checked against the curve here; deriving does not check it a second time, which would double
 * the cost. */
static EVP_PKEY *peer_of(const struct key *k, struct bytes peer) {
  if (peer.size != PUBLIC_SIZE || peer.data[0] != 4) return NULL;
  EVP_PKEY *p = EVP_PKEY_new();
  if (p && EVP_PKEY_copy_parameters(p, k->pair) && EVP_PKEY_set1_encoded_public_key(p, peer.data, peer.size))
    return p;
  EVP_PKEY_free(p);
  return NULL;
}

static bool derive(const struct key *k, EVP_PKEY *peer, unsigned char x[SCALAR_SIZE]) {
  size_t size = SCALAR_SIZE;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, k->pair, NULL);
  bool ok = context && EVP_PKEY_derive_init(context) > 0 &&
            EVP_PKEY_derive_set_peer_ex(context, peer, 0) > 0 && EVP_PKEY_derive(context, x, &size) > 0 &&
            size == SCALAR_SIZE;
  EVP_PKEY_CTX_free(context);
  return ok;
}

bool key_shared(const struct key *k, struct bytes peer, unsigned char shared[SHARED_SIZE], struct err *e) {
  unsigned char x[SCALAR_SIZE], hash[20];
  EVP_PKEY *p = peer_of(k, peer);
  if (!p)
    return quiet(false), err_set(e, KIND_protocol,
                                 "the other side's public key is not a point of P-256 in its 65-byte form");
  bool ok = derive(k, p, x) && EVP_Digest(x, sizeof x, hash, NULL, k->crypto->sha1, NULL);
  if (ok) memcpy(shared, hash, SHARED_SIZE);
  EVP_PKEY_free(p);
  wipe(x, sizeof x);
  wipe(hash, sizeof hash);
  return quiet(ok) || err_set(e, KIND_service, "OpenSSL derived no shared secret");
}

const char *crypto_version(void) {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}
