/* The algorithms of libcrypto that this program uses. This room is the only one that includes OpenSSL.
 *
 * OpenSSL looks up algorithms by name, which costs more than using them: `struct crypto` keeps the results.
 * Each Lua state owns one, so that threads share nothing. Secrets are small arrays in the caller's struct,
 * and their owner wipes them.
 */
#ifndef FLEET_CRYPTO_CONTEXT_H
#define FLEET_CRYPTO_CONTEXT_H

#include "base/buf.h"
#include "base/err.h"

struct crypto; /* reference-counted; every object that uses it holds a reference */

struct crypto *crypto_new(struct err *e);
/* Refuses where a system policy has removed what the vehicles' protocol needs; signing in to the service
 * needs less. Asked when a key is made. */
bool crypto_can_sign(const struct crypto *c, struct err *e);
struct crypto *crypto_ref(struct crypto *c);
void crypto_unref(struct crypto *c);
const char *crypto_version(void); /* of the OpenSSL that runs */

#endif
