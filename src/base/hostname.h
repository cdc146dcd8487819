/* The spelling of host names: of any host, and of an application's domain, as the service registers it. Users
 * lose hours over an https://, a capital or a path (doc/protocol.md#registration), so every mistake has its
 * own sentence.
 */
#ifndef FLEET_BASE_HOSTNAME_H
#define FLEET_BASE_HOSTNAME_H

#include "base/buf.h"

/* The end of an error message about the name of a host, a constant; or NULL when the name is good. A text
 * whose data is NULL is no name. */
const char *hostname_problem(struct bytes text);
/* The same of a domain: a public name in small letters. */
const char *domain_problem(struct bytes text);
/* Appends the domain that was meant by a wrong one; false where none can be seen. */
bool domain_meant(struct bytes text, struct buf *out);
/* Appends the sentence about a wrong domain; false for a sound one. */
bool domain_sentence(struct bytes text, struct buf *out);

#endif
