/* One request and what came back: values that know neither libcurl nor the loop.
 *
 * outcome.h decides what a reply means; multi.h sends, waits and takes replies.
 */
#ifndef FLEET_HTTP_TRANSFER_H
#define FLEET_HTTP_TRANSFER_H

#include "base/buf.h"
#include "base/err.h"

#define HTTP_FAILURES(X)                                                                                     \
  X(OK, ok)               /* a whole reply arrived, with any status */                                       \
  X(RESOLVE, resolve)     /* no address for the name */                                                      \
  X(CONNECT, connect)     /* refused, unreachable, proxy not reached, or connect_timeout passed */           \
  X(TLS, tls)             /* handshake or certificate */                                                     \
  X(TIMEOUT, timeout)     /* the total time passed */                                                        \
  X(EMPTY, empty)         /* the connection ended without one byte of reply */                               \
  X(CUT, cut)             /* the reply ended early or cannot be read as HTTP */                              \
  X(TOO_LARGE, too_large) /* more than max_response decompressed bytes, or 64 KiB of headers */              \
  X(CANCELLED, cancelled) /* http_cancel */                                                                  \
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
  double connect_timeout;     /* for connecting, TLS included; 0: as timeout */
  size_t max_response;        /* bytes after decompression */
  const char *ca_file;        /* PEM, trusted instead of libcurl's own, or NULL */
  const char *unix_path;      /* Unix socket instead of TCP, or NULL */
  const char *proxy;          /* an http://host:port, or NULL: none */
  bool environment_proxy;     /* without proxy: honour http_proxy and no_proxy of the environment */
  double idle_limit;          /* seconds for which a connection may have been idle to be used again; 0: any */
  bool http2;                 /* over TLS, HTTP/2 is offered for a method that changes nothing */
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

struct http_transfer; /* a request that was submitted */
void transfer_set_user(struct http_transfer *t, void *user);
void *transfer_user(const struct http_transfer *t);
struct http_response *transfer_response(struct http_transfer *t); /* valid until http_drop */

#endif
