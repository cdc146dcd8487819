/* Who a client certificate belongs to: the kind of device by its issuer and extended key usages, the id by
 * its common name; doc/protocol.md#telemetry-stream. And the rule for a chain's purposes that OpenSSL's own
 * lacks. */
#ifndef FLEET_STREAM_IDENTITY_H
#define FLEET_STREAM_IDENTITY_H

#include "base/buf.h"
#include "base/err.h"

#include <openssl/x509.h>

enum { IDENTITY_MOST = 64 };

struct identity {
  char id[IDENTITY_MOST + 1]; /* of a vehicle its VIN */
  const char *kind;           /* "vehicle_device" and others; a constant */
};

bool identity_of(X509 *leaf, struct identity *out, struct err *e);
/* Each certificate may serve a TLS client: its extended key usage is absent, or has clientAuth or any.
 * OpenSSL's purpose "sslclient" takes `any` for a leaf only, and refuses every vehicle whose issuer has no
 * other usage. */
bool chain_may_be_client(STACK_OF(X509) * chain);

#endif
