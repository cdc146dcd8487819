/* Easy handles of libcurl: taken from a pool, configured, and returned for the next request. */
#ifndef FLEET_HTTP_EASY_H
#define FLEET_HTTP_EASY_H

#include "http/parts.h"

struct easy *easy_take(struct http *h);
bool easy_set_request(struct easy *c, struct pool *pool, struct http_transfer *t,
                      const struct http_request *r);
/* For another try, in the pool it is in on a new connection or in another one, within what is left of the
 * time. */
bool easy_set_again(struct easy *c, struct pool *pool);
void easy_release(struct easy *c, bool clean);
void easy_free(struct easy *c);
void easy_trim_idle(struct http *h, int most);

#endif
