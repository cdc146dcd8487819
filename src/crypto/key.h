/* P-256 keys: read, written, and the secret that two of them share. */
#ifndef FLEET_CRYPTO_KEY_H
#define FLEET_CRYPTO_KEY_H

#include "crypto/context.h"

enum { PUBLIC_SIZE = 65, SCALAR_SIZE = 32, SHARED_SIZE = 16 };

struct key; /* a private key with its public half; reference-counted, wiped with the last reference */

struct key *key_generate(struct crypto *c, struct err *e);
/* PEM: SEC1 or PKCS8, the latter also encrypted. A public, RSA or other-curve key is refused with a plain
 * sentence. */
struct key *key_parse(struct crypto *c, struct bytes pem, struct bytes passphrase, struct err *e);
/* The public half alone, from PEM as it is hosted. A private key, a certificate, another kind is refused. */
bool key_public_parse(struct bytes pem, unsigned char public[PUBLIC_SIZE], struct err *e);
/* The same, also from its 65 bytes or their 130 hex digits. */
bool key_public_read(struct crypto *c, struct bytes given, unsigned char public[PUBLIC_SIZE], struct err *e);
struct key *key_of_scalar(struct crypto *c, const unsigned char scalar[SCALAR_SIZE], struct err *e);
struct key *key_ref(struct key *k);
void key_unref(struct key *k);

struct crypto *key_crypto(const struct key *k);
const unsigned char *key_public(const struct key *k);                    /* PUBLIC_SIZE bytes: 04 X Y */
bool key_scalar(const struct key *k, unsigned char scalar[SCALAR_SIZE]); /* the caller wipes it */
bool key_private_pem(const struct key *k, struct bytes passphrase, struct buf *out, struct err *e);
bool key_public_pem(const struct key *k, struct buf *out, struct err *e);
/* SHA-256 of the SubjectPublicKeyInfo (RFC 5280), in hex. */
bool key_fingerprint(const struct key *k, struct buf *hex);
bool key_public_fingerprint(struct crypto *c, const unsigned char public[PUBLIC_SIZE], struct buf *hex);

/* The session key of the vehicles' protocol: SHA-1 of the shared x, cut to 16 bytes. A peer that is not 65
 * bytes on the curve fails. */
bool key_shared(const struct key *k, struct bytes peer, unsigned char shared[SHARED_SIZE], struct err *e);

/* Whether this is a point of the curve in its 65-byte form, with which the key could share a secret. */
bool key_accepts(const struct key *k, struct bytes peer);

#endif
