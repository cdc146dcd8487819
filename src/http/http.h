/* Requests in flight on one libcurl multi handle: submit, step, take what has finished.
 *
 * It never waits, never repeats, knows neither Lua nor the service. libcurl must not deliver a request that changes
 * something twice by itself (rule R1a): on a kept-alive connection that dies without a reply it would send the same
 * request again, with and without a body. The second try is stopped before its first byte, and the failure says that
 * the first one may have arrived. What the environment says about proxies and certificates is ignored unless the
 * request says otherwise.
 *
 * Everything is HTTP/1.1: one request at a time on a connection, so that a connection that breaks leaves one outcome
 * in doubt and not those of all requests that shared it. Connections are kept and used again, never limited in number.
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
  HTTP_TOO_LARGE, /* more than max_response decompressed bytes, or 64 KiB of headers */
  HTTP_CANCELLED, /* http_cancel */
  HTTP_SINK,      /* the sink took no more: a full disk */
  HTTP_LOCAL      /* could not be started: memory, descriptors, an unusable address */
};

struct http_request { /* everything is copied by http_submit */
  const char *method; /* GET HEAD POST PUT PATCH DELETE */
  const char *url;
  const char *const *headers; /* whole lines "Name: value", ends with NULL; NULL: none. Control characters are refused */
  struct bytes body;          /* data NULL: no body. The copy is wiped */
  double timeout;             /* real seconds from now for the whole request */
  double connect_timeout;     /* until the connection stands, TLS included; 0: as timeout */
  size_t max_response;        /* bytes after decompression */
  const char *ca_file;        /* PEM, trusted instead of libcurl's own, or NULL */
  const char *unix_path;      /* Unix socket instead of TCP, or NULL */
  const char *proxy;          /* an http://host:port, or NULL: none */
  bool environment_proxy;     /* without proxy: honour http_proxy and no_proxy of the environment */
  int sink;                   /* above 0: a descriptor that takes the body of a 2xx reply */
};

struct http_response {
  enum http_failure failure;
  bool sent;          /* a byte of the request may have left: a connection stood and it was about to be written */
  int status;         /* 0 when none arrived */
  struct buf headers; /* lower-case "name: value\n" lines of the last reply, trailers left out */
  struct buf body;
  double seconds;
  char message[256]; /* a sentence for a failure, without the address */
};

struct http;
struct http_transfer;

bool http_open(struct http **h, struct poller *p, struct err *e); /* p must outlive it */
/* Starts a request. The transfer belongs to h until http_drop. The caller's mistakes give KIND_invalid. */
struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e);
/* Does what is due: feeds the events tagged HTTP_TAG, others are skipped, and libcurl's timer. Never waits. */
void http_step(struct http *h, const struct poller_event *events, int count);
double http_timeout(const struct http *h); /* seconds until http_step or http_take is due, negative: never */
struct http_transfer *http_take(struct http *h); /* a finished one, each once; NULL: none */
int http_in_flight(const struct http *h);        /* submitted and not yet taken or dropped */

void transfer_set_user(struct http_transfer *t, void *user);
void *transfer_user(const struct http_transfer *t);
struct http_response *transfer_response(struct http_transfer *t); /* valid until http_drop */
void http_cancel(struct http *h, struct http_transfer *t);        /* finishes as HTTP_CANCELLED; taken as usual */
void http_drop(struct http *h, struct http_transfer *t);          /* ends it if need be, wipes and frees it */
/* Ends everything, also transfers that were taken and not dropped. In a forked child it only closes the child's
 * descriptors and frees its own memory: libcurl would say goodbye on TLS connections that the parent still uses. */
void http_close(struct http *h);

double http_date(struct bytes text); /* UTC seconds of an HTTP date (RFC 9110 5.6.7), negative: unreadable */

#define HTTP_TAG 1u /* tag of libcurl's sockets in the poller */

#endif
