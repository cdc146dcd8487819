/* Requests in flight on one libcurl multi handle: submit, feed events, take what has finished.
 *
 * It never waits, never retries, knows neither Lua nor the service. libcurl must not deliver a body twice by itself
 * (rule R1a): its own re-send on a dead kept-alive connection is made to fail, and the failure says whether anything
 * was sent. What the environment says about proxies and certificates is ignored unless the request says otherwise.
 */
#ifndef FLEET_HTTP_HTTP_H
#define FLEET_HTTP_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "http/poller.h"

enum http_failure {
  HTTP_OK,        /* a whole reply arrived, whatever its status */
  HTTP_RESOLVE,   /* no address for the name */
  HTTP_CONNECT,   /* refused, unreachable, proxy not reached, or connect_timeout passed */
  HTTP_TLS,       /* handshake or certificate */
  HTTP_TIMEOUT,   /* the total time passed */
  HTTP_EMPTY,     /* the connection ended without one byte of reply */
  HTTP_CUT,       /* the reply ended early or cannot be read as HTTP */
  HTTP_TOO_LARGE, /* more than max_response decompressed bytes */
  HTTP_CANCELLED, /* http_cancel, or the loop was closed */
  HTTP_LOCAL      /* could not be started: memory, descriptors, an unusable address or file */
};

struct http_request { /* everything is copied by http_submit */
  const char *method;
  const char *url;
  const char *const *headers; /* whole lines "Name: value", ends with NULL; no CR, LF or NUL may stand in them */
  struct bytes body;          /* data NULL: no body. The copy is wiped */
  double timeout, connect_timeout; /* real seconds from now */
  size_t max_response;             /* bytes after decompression */
  const char *ca_file;             /* PEM, or NULL: libcurl's own */
  const char *unix_path;           /* Unix socket instead of TCP, or NULL */
  const char *proxy;               /* an http://host:port, or NULL: none */
  bool environment_proxy;          /* honour http_proxy and no_proxy of the environment */
  int sink;                        /* -1, or a descriptor that takes the body of a 2xx reply */
};

struct http_response {
  enum http_failure failure;
  bool sent;          /* a byte of the body (or, without one, of the request) may have left */
  int status;         /* 0 when none arrived */
  struct buf headers; /* lower-case "name: value\n" lines of the last reply, trailers left out */
  struct buf body;
  double seconds;
  char message[256]; /* libcurl's text for a failure, without the address */
};

struct http;
struct http_transfer;

bool http_open(struct http **h, struct poller *p, struct err *e);
/* Starts a request. The transfer belongs to h until http_take hands it out or http_drop gives it up. */
struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e);
void http_ready(struct http *h, int fd, unsigned events);
void http_tick(struct http *h); /* libcurl's timer; call it when http_timeout says 0, cheap otherwise */
double http_timeout(const struct http *h); /* seconds until http_tick is due, negative: never */
struct http_transfer *http_take(struct http *h); /* a finished one, each once; NULL: none */
int http_in_flight(const struct http *h);

void transfer_set_user(struct http_transfer *t, void *user);
void *transfer_user(const struct http_transfer *t);
struct http_response *transfer_response(struct http_transfer *t); /* valid until http_drop */
void http_cancel(struct http *h, struct http_transfer *t);        /* finishes as HTTP_CANCELLED; taken as usual */
void http_drop(struct http *h, struct http_transfer *t);          /* ends it if need be, frees it */
void http_close(struct http *h); /* ends everything; transfers still outside become invalid */
/* After a fork: frees memory without writing to any socket of the parent. */
void http_abandon(struct http *h);

#define HTTP_TAG 1u /* tag of libcurl's sockets in the poller */

#endif
