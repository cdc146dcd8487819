/* X.509 certificates (RFC 5280): what can be said of a chain before it is given to a vehicle.
 *
 * A vehicle that gets a broken or expired chain stays silent, so what is certain to fail is found here.
 * Nothing is trusted by this: no signature is verified.
 */
#ifndef FLEET_CRYPTO_X509_H
#define FLEET_CRYPTO_X509_H

#include "base/buf.h"
#include "base/err.h"

enum { CHAIN_MOST = 64 };

struct certificate {
  int64_t until;   /* UTC seconds of its last moment */
  bool has_issuer; /* who issued it is in the same chain: itself, or another one */
};

struct chain {
  size_t count;
  size_t servers; /* that may sign no others */
  size_t named;   /* of these, that name the host */
  struct certificate at[CHAIN_MOST];
};

/* Every CERTIFICATE block of a PEM text (RFC 7468), in its order; other blocks are left out. False, with the
 * number of the certificate in e, when one cannot be read. host: a name that is looked for in them, or empty.
 */
bool x509_chain(struct bytes pem, struct bytes host, struct chain *out, struct err *e);

#endif
