/* Removes secrets from texts before they reach an err, a log or the caller: rule R4 of doc/security.md.
 *
 * A server may repeat a secret as it is, percent-encoded in an address or a form, or in JSON that escapes the
 * slash. Every text with the form of a bearer token or a JSON Web Token is removed too.
 */
#ifndef FLEET_BASE_REDACT_H
#define FLEET_BASE_REDACT_H

#include "base/buf.h"

/* Adds the text without the secrets; those of less than four bytes hide more words than secrets and are left.
 * Sorts the secrets. out fails where memory ends. */
void redact(struct buf *out, struct bytes text, struct bytes *secrets, size_t count);

#endif
