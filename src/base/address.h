/* Base addresses of servers, as the options of a client give them: https, or http to this machine only.
 *
 * A token goes wherever such an address says, so that what is unusual in one is refused, not understood.
 */
#ifndef FLEET_BASE_ADDRESS_H
#define FLEET_BASE_ADDRESS_H

#include "base/buf.h"

enum address { ADDRESS_SOUND, ADDRESS_MALFORMED, ADDRESS_PLAIN /* http beyond this machine */ };

/* "https://host:8443/path" without user, query and fragment. Cuts the slashes at its end off. */
enum address address_check(struct bytes *text);
/* Appends the text as it may be shown: secrets may precede an @ or be in a query. */
void address_shown(struct buf *out, struct bytes text);

#endif
