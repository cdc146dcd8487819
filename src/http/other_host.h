/* A reply or a token may name another base address. It is used only if a list of hosts accepts it. */
#ifndef FLEET_HTTP_OTHER_HOST_H
#define FLEET_HTTP_OTHER_HOST_H

#include "base/buf.h"

/* hosts ends with NULL; ".example.com" accepts https hosts below it, "example.com" or "example.com:8443" this
 * https host, "http://127.0.0.1:8080" this very base URL. */

/* The base URL at the start of an address that was named, if hosts accepts it. */
bool other_host_accepted(struct bytes address, const char *const *hosts, struct buf *base_url);

/* The base URL that a 421 names in its text or its Alt-Svc header, if hosts accepts it: rule R3,
 * doc/protocol.md#wrong-region. headers are http_response.headers. */
bool other_host_named(struct bytes headers, struct bytes text, const char *const *hosts,
                      struct buf *base_url);

#endif
