/* Where HTTP/2 is offered: to requests that change nothing, over TLS, straight to the server, and to servers
 * that have not declined it. A connection that dies then leaves many in doubt, but only such as may be sent
 * again.
 */
#ifndef FLEET_HTTP_STREAMS_H
#define FLEET_HTTP_STREAMS_H

#include "http/parts.h"

struct pool *streams_pool_for(struct http *h, const struct http_transfer *t, const struct http_request *r);
bool streams_refuses(const struct http *h, uint64_t origin);
void streams_refused(struct http *h, const struct http_transfer *t); /* the server speaks HTTP/1.1 only */
bool streams_lost(const struct http_transfer *t, CURLcode code);     /* to be asked again over HTTP/1.1 */
uint64_t streams_origin(const char *url);

#endif
