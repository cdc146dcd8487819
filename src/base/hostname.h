/* The spelling of host names: of any host, and of an application's domain, as the service registers it. Users
 * lose hours over an https://, a capital or a path (doc/protocol.md#registration), so every mistake has its
 * own sentence.
 */
#ifndef FLEET_BASE_HOSTNAME_H
#define FLEET_BASE_HOSTNAME_H

#include "base/buf.h"

/* What is wrong with the name of a host, or NULL: a part of a sentence, which nobody frees. A text whose data
 * is NULL is none. */
const char *hostname_problem(struct bytes text);
/* The same of a domain: a public name in small letters. */
const char *domain_problem(struct bytes text);
/* Appends the domain that was meant by a wrong one; false where none can be seen. */
bool domain_meant(struct bytes text, struct buf *out);
/* Appends the sentence about a wrong domain; false for a sound one. */
bool domain_sentence(struct bytes text, struct buf *out);

#endif
