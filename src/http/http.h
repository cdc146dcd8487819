/* Requests in flight on one libcurl multi handle: submit, run, take what has finished.
 *
 * It knows neither Lua nor the service and never repeats a request. libcurl would: on a kept connection that
 * dies without a reply it sends the same request again. Where that could do something twice
 * (doc/protocol.md#outcomes) the second try is stopped before its first byte, and the failure says that the
 * first may have arrived. Everything is HTTP/1.1: a connection that breaks leaves one outcome in doubt, not
 * many. What the environment says about proxies and certificates is ignored unless the request says
 * otherwise.
 */
#ifndef FLEET_HTTP_HTTP_H
#define FLEET_HTTP_HTTP_H

#include "base/buf.h"
#include "http/poller.h"

#define HTTP_FAILURES(X)                                                                                     \
  X(OK, ok)               /* a whole reply arrived, whatever its status */                                   \
  X(RESOLVE, resolve)     /* no address for the name */                                                      \
  X(CONNECT, connect)     /* refused, unreachable, proxy not reached, or connect_timeout passed */           \
  X(TLS, tls)             /* handshake or certificate */                                                     \
  X(TIMEOUT, timeout)     /* the total time passed */                                                        \
  X(EMPTY, empty)         /* the connection ended without one byte of reply */                               \
  X(CUT, cut)             /* the reply ended early or cannot be read as HTTP */                              \
  X(TOO_LARGE, too_large) /* more than max_response decompressed bytes, or 64 KiB of headers */              \
  X(CANCELLED, cancelled) /* http_cancel */                                                                  \
  X(SINK, sink)           /* the sink took no more: a full disk */                                           \
  X(LOCAL, local)         /* could not be started: memory, descriptors, an unusable address */

#define X(NAME, name) HTTP_##NAME,
enum http_failure { HTTP_FAILURES(X) };
#undef X

struct http_request { /* everything is copied by http_submit */
  const char *method; /* GET POST DELETE */
  const char *url;
  const char *const *headers; /* lines "Name: value", ends with NULL; NULL: none */
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
  bool sent;          /* a byte may have left: a connection stood and the request was about to be written */
  int status;         /* 0 when none arrived */
  struct buf headers; /* lower-case "name: value\n" lines of the last reply, trailers left out */
  struct buf body;
  double seconds;
  char message[256]; /* a sentence for a failure, without the address */
};

#define HTTP_TAG 1u /* tag of libcurl's sockets in the poller */

struct http;
struct http_transfer;
const char *http_version(void);                                   /* of the libcurl that runs */
bool http_open(struct http **h, struct poller *p, struct err *e); /* p must outlive it */
/* Starts a request. The transfer belongs to h until http_drop. The caller's mistakes give KIND_invalid: an
 * odd address, a time limit that is none, a header line with control characters. */
struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e);
/* Does what is due, waits for at most so many seconds (0: not at all, negative: without end) unless something
 * has finished, and does what the events ask for. Returns how many events are not libcurl's; they remain in
 * events. */
int http_run(struct http *h, struct poller_event *events, int capacity, double seconds);
double http_timeout(const struct http *h); /* seconds until http_run or http_take is due, negative: never */
struct http_transfer *http_take(struct http *h); /* a finished one, each once; NULL: none */
int http_in_flight(const struct http *h);        /* submitted and not yet taken or dropped */

void transfer_set_user(struct http_transfer *t, void *user);
void *transfer_user(const struct http_transfer *t);
struct http_response *transfer_response(struct http_transfer *t); /* valid until http_drop */
void http_cancel(struct http *h, struct http_transfer *t); /* finishes as HTTP_CANCELLED; taken as usual */
void http_drop(struct http *h, struct http_transfer *t);   /* ends it if need be, wipes and frees it */
/* Ends everything, transfers that were taken and not dropped, too. In a forked child it closes the child's
 * descriptors and frees its own memory only: libcurl would end TLS connections that the parent still uses. */
void http_close(struct http *h);

#endif
