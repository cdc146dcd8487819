/* Texts without secrets, before they reach an err, a log or the caller: rule R4 of doc/security.md.
 *
 * A secret comes back as it was sent: as it is, percent-encoded in an address or a form, or in JSON that
 * escapes the slash. What looks like a bearer token or a JSON Web Token is taken out, with any value.
 */
#ifndef FLEET_BASE_REDACT_H
#define FLEET_BASE_REDACT_H

#include "base/buf.h"

/* Adds the text without the secrets; those of less than four bytes hide more words than secrets and are left.
 * Sorts the secrets. out fails where memory ends. */
void redact(struct buf *out, struct bytes text, struct bytes *secrets, size_t count);

#endif
