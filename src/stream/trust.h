/* Which client certificates are accepted: the maker's authorities, any certificate of them as an anchor, and
 * a rule of our own for their purposes. OpenSSL's default for a server locks out every vehicle whose issuer's
 * only extended key usage is "any". */
#ifndef FLEET_STREAM_TRUST_H
#define FLEET_STREAM_TRUST_H

#include "base/buf.h"
#include "base/err.h"

#include <openssl/ssl.h>

/* Each CERTIFICATE block of a PEM text, in its order; at least one. The caller frees the stack. NULL: e says
 * which one failed. name: of the text, for e. */
STACK_OF(X509) * certificates_of(struct bytes pem, const char *name, struct err *e);
enum { FINGERPRINT = 64 }; /* lower-case hex digits of a SHA-256 */

/* of the whole certificate; false: OpenSSL failed */
bool fingerprint_of(const X509 *certificate, char out[FINGERPRINT + 1]);
/* The common name, or "" where it has none. */
void common_name_of(const X509 *certificate, char *out, size_t size);
/* Our own chain, the leaf first, and its key: PEM texts. */
bool use_chain(SSL_CTX *context, struct bytes certificate, struct bytes key, struct err *e);
/* Verifies clients by these authorities, whose names the certificate request carries. Takes its own
 * references. */
bool trust_clients(SSL_CTX *context, STACK_OF(X509) * authorities, struct err *e);
/* The same for a chain that is at hand, at a time in UTC seconds (0: now): the leaf first. */
bool trust_chain(STACK_OF(X509) * chain, STACK_OF(X509) * authorities, int64_t at, struct err *e);

#endif
