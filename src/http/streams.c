#include "http/streams.h"

enum { DECLINED_SECONDS = 600 };

/* FNV-1a of scheme, host and port, never 0. */
uint64_t streams_origin(const char *url) {
  uint64_t key = 14695981039346656037u;
  const char *host = strstr(url, "://");
  size_t size = host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
  for (size_t i = 0; i < size; i++) key = (key ^ (unsigned char)url[i]) * 1099511628211u;
  return key ? key : 1;
}

bool streams_refuses(const struct http *h, uint64_t origin) {
  for (int i = 0; i < ORIGINS; i++)
    if (h->origins[i].key == origin) return poller_now() < h->origins[i].until;
  return false;
}

void streams_refused(struct http *h, const struct http_transfer *t) {
  struct origin *found = NULL;
  for (int i = 0; i < ORIGINS; i++)
    if (h->origins[i].key == t->origin) found = &h->origins[i];
  if (!found) {
    found = &h->origins[h->next_origin];
    h->next_origin = (h->next_origin + 1) % ORIGINS;
  }
  *found = (struct origin){t->origin, poller_now() + DECLINED_SECONDS};
  h->refused = true;
}

/* Only where its use can be seen before the first byte: tls_protocol. */
struct pool *streams_pool_for(struct http *h, const struct http_transfer *t, const struct http_request *r) {
  bool direct = !r->proxy && !r->environment_proxy && !r->unix_path;
  bool streams = r->http2 && t->method->safe && direct && h->tls_protocol &&
                 text_starts(r->url, strlen(r->url), "https:") && !streams_refuses(h, t->origin);
  return &h->pools[streams ? POOL_STREAMS : POOL_SINGLE];
}

/* libcurl retries a request that the server did not begin, five times. That is too few when many requests
 * share connections that end after a few of them. libcurl also takes a stream that ends amid large headers
 * for HTTP/0.9. */
bool streams_lost(const struct http_transfer *t, CURLcode code) {
  bool streams = t->easy->pool == &t->easy->http->pools[POOL_STREAMS];
  if (!streams || t->stopped || t->header_bytes || !t->response.sent) return false;
  return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_UNSUPPORTED_PROTOCOL;
}
