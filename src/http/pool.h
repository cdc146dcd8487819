/* The multi handles: one for requests that may share a connection by HTTP/2, one for those that may not. A
 * request that must run once never shares a connection. */
#ifndef FLEET_HTTP_POOL_H
#define FLEET_HTTP_POOL_H

#include <curl/curl.h>
#include <stdint.h>

enum pool_kind { POOL_SINGLE, POOL_STREAMS, POOL_KINDS };
enum { ORIGINS = 16 };

struct origin { /* a server that was offered HTTP/2 and did not take it */
  uint64_t key;
  double until; /* poller_now() seconds: then it is offered again */
};

struct pool {
  CURLM *multi;
  struct http *http;
  double timer_at;  /* poller_now() seconds, 0: at once, negative: never */
  double looked_at; /* poller_now() seconds of the last request that looked for old addresses, 0: none has */
  long in_flight;   /* requests */
  long connections; /* to one host, at most; 0: any number */
  long kept;        /* connections that libcurl keeps open, at most; 0: as many as it likes */
};

#endif
