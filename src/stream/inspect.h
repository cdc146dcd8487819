/* What can be said of certificates at hand, and of a receiver's own chain as a vehicle judges it. */
#ifndef FLEET_STREAM_INSPECT_H
#define FLEET_STREAM_INSPECT_H

#include "base/buf.h"
#include "base/err.h"

#include <openssl/x509.h>

enum { FINGERPRINT_SIZE = 32 };

struct certificate_facts {
  char subject[128], issuer[128];             /* common names, "" where there is none */
  char fingerprint[2 * FINGERPRINT_SIZE + 1]; /* SHA-256 of its DER, hex */
  int64_t from, until;                        /* UTC seconds */
  bool authority, self_issued;
};

bool certificate_facts(X509 *certificate, struct certificate_facts *out, struct err *e);
/* Appends each name and address that a certificate is for, with a line end behind it. */
void certificate_hosts(X509 *certificate, struct buf *out);
/* As a vehicle does: a chain up to a root among the authorities alone, for this host. alone: the leaf without
 * what the server sends beside it, which is how the maker's script checks. at: UTC seconds, 0: now. */
bool trust_server(STACK_OF(X509) * chain, STACK_OF(X509) * authorities, const char *host, bool alone,
                  int64_t at, struct err *e);

#endif
