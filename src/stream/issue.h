/* Certificates that this module makes: a private authority and a receiver's certificate below it, and those
 * of the simulator's vehicles. */
#ifndef FLEET_STREAM_ISSUE_H
#define FLEET_STREAM_ISSUE_H

#include "base/buf.h"
#include "base/err.h"

/* Texts may be NULL. subject: the common name. host: a name or address that the certificate is for. usage:
 * extended key usages, by commas. issuer, issuer_key: PEM texts; empty: it signs itself. */
struct issue {
  const char *subject, *host, *usage;
  bool authority;
  long days;
  struct bytes issuer, issuer_key;
};

/* A new P-256 key and its certificate, PEM texts. The caller frees both, also on failure. */
bool issue_certificate(const struct issue *wanted, struct buf *certificate, struct buf *key, struct err *e);

#endif
