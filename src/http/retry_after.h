/* How long a server asks to be left alone. One reader for every address: those of the service, of its tokens
 * and of the proxy. */
#ifndef FLEET_HTTP_RETRY_AFTER_H
#define FLEET_HTTP_RETRY_AFTER_H

#include "base/buf.h"

/* Seconds to wait according to Retry-After, RateLimit-Reset or "Retry in N seconds", in this order; negative:
 * nothing says. At most 30 days. headers are http_response.headers, wall is UTC seconds, for a date.
 * doc/protocol.md#rate-limits, RFC 9110 10.2.3. */
double retry_after(struct bytes headers, struct bytes text, double wall);

#endif
