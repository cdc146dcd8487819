/* P-256 keys, and every primitive of the signing protocol: ECDH, HMAC-SHA256, AES-128-GCM, SHA-256, random
 * bytes.
 *
 * OpenSSL is included here and in jws.c only. What OpenSSL looks up by name (which costs more than using it)
 * is fetched once per `struct crypto`; a Lua state owns one, so nothing is shared between threads. Secrets
 * are small arrays inside the caller's struct and are wiped by whoever owns them. Keyed HMAC contexts are a
 * kilobyte each: they live in a small cache, so that ten thousand idle sessions hold thirty-two bytes of key
 * each and not ten megabytes of contexts.
 */
#ifndef FLEET_SIGNING_KEY_H
#define FLEET_SIGNING_KEY_H

#include "base/buf.h"
#include "base/err.h"

enum {
  PUBLIC_SIZE = 65,
  SCALAR_SIZE = 32,
  SHARED_SIZE = 16,
  MAC_SIZE = 32,
  NONCE_SIZE = 12,
  GCM_TAG_SIZE = 16,
  HASH_SIZE = 32
};

struct crypto; /* reference-counted; every object that uses it holds a reference */

struct crypto *crypto_new(struct err *e); /* refuses where a system policy has removed an algorithm */
struct crypto *crypto_ref(struct crypto *c);
void crypto_unref(struct crypto *c);
const char *crypto_version(void); /* of the OpenSSL that runs */

bool crypto_random(struct crypto *c, void *out, size_t size, struct err *e); /* safe across fork */
bool crypto_sha256(struct crypto *c, struct bytes in, unsigned char out[HASH_SIZE]);

/* HMAC-SHA256 over head then body. owner names a keyed context to keep (crypto_owner gives names); 0 keeps
 * none. */
uint64_t crypto_owner(struct crypto *c);
void crypto_forget(struct crypto *c, uint64_t owner); /* wipes the context kept for this owner */
bool crypto_hmac(struct crypto *c, uint64_t owner, const unsigned char key[MAC_SIZE], struct bytes head,
                 struct bytes body, unsigned char tag[MAC_SIZE]);
/* One HMAC-SHA256 with a key of any length. */
bool crypto_hmac_once(struct crypto *c, struct bytes key, struct bytes data, unsigned char tag[MAC_SIZE]);

/* AES-128-GCM. Sealing appends the ciphertext to out; opening appends the plain text only when the tag is
 * right. */
bool crypto_seal(struct crypto *c, const unsigned char key[SHARED_SIZE],
                 const unsigned char nonce[NONCE_SIZE], struct bytes aad, struct bytes plain, struct buf *out,
                 unsigned char tag[GCM_TAG_SIZE]);
bool crypto_unseal(struct crypto *c, const unsigned char key[SHARED_SIZE], struct bytes nonce,
                   struct bytes aad, struct bytes cipher, struct bytes tag, struct buf *out);

struct key; /* a private key with its public half; reference-counted, wiped with the last reference */

struct key *key_generate(struct crypto *c, struct err *e);
/* PEM: SEC1 or PKCS8, the latter also encrypted. A public, RSA or other-curve key is refused with a plain
 * sentence. */
struct key *key_parse(struct crypto *c, struct bytes pem, struct bytes passphrase, struct err *e);
/* The public half alone, from PEM as it is hosted. A private key, a certificate, another kind is refused. */
bool key_public_parse(struct bytes pem, unsigned char public[PUBLIC_SIZE], struct err *e);
struct key *key_of_scalar(struct crypto *c, const unsigned char scalar[SCALAR_SIZE], struct err *e);
struct key *key_ref(struct key *k);
void key_unref(struct key *k);

struct crypto *key_crypto(const struct key *k);
const unsigned char *key_public(const struct key *k);                    /* PUBLIC_SIZE bytes: 04 X Y */
bool key_scalar(const struct key *k, unsigned char scalar[SCALAR_SIZE]); /* the caller wipes it */
bool key_private_pem(const struct key *k, struct bytes passphrase, struct buf *out, struct err *e);
bool key_public_pem(const struct key *k, struct buf *out, struct err *e);
bool key_fingerprint(const struct key *k,
                     struct buf *hex); /* SHA-256 of the SubjectPublicKeyInfo, RFC 5280 */

/* K of wire protocol section 4: SHA-1 of the shared x, cut to 16 bytes. A peer that is not 65 bytes on the
 * curve fails. */
bool key_shared(const struct key *k, struct bytes peer, unsigned char shared[SHARED_SIZE], struct err *e);

#endif
