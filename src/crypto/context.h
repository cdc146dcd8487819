/* The algorithms of libcrypto that this program uses. This room is the only one that includes OpenSSL.
 *
 * What OpenSSL looks up by name (which costs more than using it) is fetched once per `struct crypto`; a Lua
 * state owns one, so nothing is shared between threads. Secrets are small arrays inside the caller's struct
 * and are wiped by their owner.
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
