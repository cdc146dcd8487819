/* Structs that the files around libcurl share. Other directories include multi.h and transfer.h instead.
 *
 * - transfer.c checks and copies a request.
 * - streams.h chooses its pool; pool.h has the multi handles.
 * - easy.c sets libcurl's options; multi.c starts and finishes transfers.
 * - connection.c owns the sockets; receive.c reads the reply; failure.c names what failed.
 */
#ifndef FLEET_HTTP_PARTS_H
#define FLEET_HTTP_PARTS_H

#include "http/multi.h"
#include "http/pool.h"

#include <string.h>
#include <strings.h>

static inline bool text_starts(const char *text, size_t size, const char *prefix) { /* case-blind */
  size_t length = strlen(prefix);
  return size >= length && strncasecmp(text, prefix, length) == 0;
}

struct transfer_list {
  struct http_transfer *first, *last;
};

struct method {
  const char *name;
  bool safe; /* changes nothing: libcurl may send it again */
  bool body; /* has one, if only of length 0 */
};

struct http_transfer {
  struct http_response response;
  struct transfer_list *list; /* running, done or taken */
  struct http_transfer *next, *previous;
  struct easy *easy; /* while it runs */
  void *user;
  const struct method *method;
  size_t max_response, header_bytes, body_size;
  double started, timeout, idle_limit;
  bool has_lines, headers_done;
  bool stale;                /* the connection it was given was not fit for use; nothing has been written */
  bool fresh;                /* its connection is new, whichever it is given */
  enum http_failure stopped; /* why a callback of ours ended it; HTTP_OK: none did */
  const char *detail;        /* more about that, or NULL */
  int fd;                    /* of its connection, where HTTP/2 is spoken */
  uint64_t origin;           /* key of scheme, host and port */
  double length;             /* of the body, as the headers say; negative: they do not */
  struct buf copy;           /* header lines and body; may hold a token, a PIN */
  struct curl_slist lines[]; /* point into copy */
};

/* An easy handle is made once and used for many requests: making one costs a tenth of a request. */
struct easy {
  CURL *curl;
  struct http *http;
  struct pool *pool, *set_for; /* where it is, and for which its options are set */
  struct http_transfer *transfer;
  struct easy *next;
  CURLU *address;   /* of its last request, or NULL */
  char origin[128]; /* of that address, where only its path would be another */
  size_t origin_size;
  bool plain_route;  /* it is set for requests without proxy, socket path and CA file */
  bool plain_method; /* for GET */
  bool looks;        /* it is to look for addresses that are too old */
  long timeout, connect_timeout;
  char error[CURL_ERROR_SIZE];
};

struct connection; /* state of a socket, by descriptor */

struct http {
  struct pool pools[POOL_KINDS];
  CURLSH *share; /* TLS sessions: without it each easy handle would remember its own */
  struct poller *poller;
  struct transfer_list running, done, taken;
  struct easy *idle;
  int idle_count, in_flight;
  struct origin origins[ORIGINS]; /* the oldest makes room */
  int next_origin;
  bool gzip;      /* libcurl can read it */
  bool tls;       /* there may be a connection over TLS */
  bool refused;   /* HTTP/2 was, since it was last looked: requests that wait for it go the other way */
  int headers_at; /* descriptor on which more of large headers may wait inside libcurl; 0: none */
  struct connection *connections;
  size_t connections_size;
  int (*tls_has_pending)(const void *);                                   /* OpenSSL's, or NULL */
  void (*tls_protocol)(const void *, const unsigned char **, unsigned *); /* likewise: what ALPN chose */
  const char *ca_file, *ca_path;                                          /* libcurl's own; static text */
};

/* transfer.c */
void transfer_move(struct transfer_list *list, struct http_transfer *t);
struct http_transfer *transfer_new(const struct http_request *r, bool gzip, struct err *e);
void transfer_free(struct http_transfer *t); /* takes it off its list */
bool transfer_has_body(const struct http_transfer *t);

/* target.c */
bool easy_set_address(struct easy *c, const char *url);

/* receive.c */
size_t receive_header(char *line, size_t one, size_t length, void *easy);
size_t receive_body(char *data, size_t one, size_t length, void *easy);

/* failure.c */
void failure_explain(struct http_transfer *t, CURLcode code); /* sets failure and message */

#endif
