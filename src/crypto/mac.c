#include "crypto/mac.h"

#include "crypto/internal.h"

#include <openssl/core_names.h>
#include <string.h>

/* OpenSSL looks the digest up by its name: once, here. */
bool mac_fetch(struct crypto *c) {
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                             OSSL_PARAM_construct_end()};
  EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  c->unkeyed = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
  EVP_MAC_free(hmac); /* the context holds its own */
  return c->unkeyed && EVP_MAC_CTX_set_params(c->unkeyed, parameters);
}

static bool set_key(EVP_MAC_CTX *context, struct bytes key) {
  static const unsigned char nothing;
  return EVP_MAC_init(context, key.size ? key.data : &nothing, key.size, NULL);
}

/* The same key as before. */
static bool rearm(EVP_MAC_CTX *context) {
  return EVP_MAC_init(context, NULL, 0, NULL);
}

static EVP_MAC_CTX *keyed(struct crypto *c, struct bytes key) {
  EVP_MAC_CTX *context = EVP_MAC_CTX_dup(c->unkeyed);
  if (context && set_key(context, key)) return context;
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

static struct kept_mac *kept_of(struct crypto *c, uint64_t owner) {
  return &c->kept[owner % KEPT_CONTEXTS];
}

static void drop_kept(struct kept_mac *s) {
  EVP_MAC_CTX_free(s->context);
  *s = (struct kept_mac){0, NULL};
}

void crypto_forget(struct crypto *c, uint64_t owner) {
  struct kept_mac *s = kept_of(c, owner);
  if (s->owner == owner) drop_kept(s);
}

/* Starting a context again with its last key costs half of making a new one. Giving it another key costs four
 * fifths. */
static bool make_ready(struct crypto *c, struct kept_mac *s, uint64_t owner,
                       const unsigned char key[MAC_SIZE]) {
  struct bytes k = {key, MAC_SIZE};
  if (owner && s->owner == owner) return rearm(s->context);
  s->owner = owner;
  if (s->context) return set_key(s->context, k);
  s->context = keyed(c, k);
  return s->context;
}

bool crypto_hmac(struct crypto *c, uint64_t owner, const unsigned char key[MAC_SIZE], struct bytes head,
                 struct bytes body, unsigned char tag[MAC_SIZE]) {
  struct kept_mac once = {0, NULL}, *s = owner ? kept_of(c, owner) : &once;
  bool ok = make_ready(c, s, owner, key) && finish(s->context, head, body, tag);
  if (!ok || !owner) drop_kept(s);
  return openssl_ok(ok);
}

bool crypto_hmac_once(struct crypto *c, struct bytes key, struct bytes data, unsigned char tag[MAC_SIZE]) {
  EVP_MAC_CTX *context = keyed(c, key);
  bool ok = context && finish(context, data, (struct bytes){NULL, 0}, tag);
  EVP_MAC_CTX_free(context);
  return openssl_ok(ok);
}

bool crypto_hmac_twice(struct crypto *c, struct bytes key, struct bytes one,
                       unsigned char tag_of_one[MAC_SIZE], struct bytes other,
                       unsigned char tag_of_other[MAC_SIZE]) {
  struct bytes none = {NULL, 0};
  EVP_MAC_CTX *context = keyed(c, key);
  bool ok = context && finish(context, one, none, tag_of_one) && rearm(context) &&
            finish(context, other, none, tag_of_other);
  EVP_MAC_CTX_free(context);
  return openssl_ok(ok);
}

/* Some releases of OpenSSL 3.0 lose the key of a context that is started again. This computes RFC 4231 test
 * case 2 twice, in a context that had another key. */
bool mac_self_test(struct crypto *c) {
  static const unsigned char expected[MAC_SIZE] = {
      0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xc7,
      0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
  unsigned char tag[MAC_SIZE];
  struct bytes data = bytes_of("what do ya want for nothing?"), none = {NULL, 0};
  EVP_MAC_CTX *context = keyed(c, none);
  bool ok = context && finish(context, data, none, tag);
  ok = ok && set_key(context, bytes_of("Jefe")) && finish(context, data, none, tag) &&
       memcmp(tag, expected, MAC_SIZE) == 0;
  ok = ok && rearm(context) && finish(context, data, none, tag) && memcmp(tag, expected, MAC_SIZE) == 0;
  EVP_MAC_CTX_free(context);
  return openssl_ok(ok);
}

void mac_drop_all(struct crypto *c) {
  for (int i = 0; i < KEPT_CONTEXTS; i++) drop_kept(&c->kept[i]);
}
