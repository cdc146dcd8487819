/* libmicrohttpd behind one descriptor, with requests that are answered whenever the caller is ready.
 *
 * The library calls back as soon as a request is complete; we copy it, suspend the connection and put it in a
 * queue. Nothing runs by itself: the caller waits for the poller, calls daemon_run and takes what has
 * arrived. A suspended connection neither times out nor notices that its client has gone, so every request
 * has a deadline of its own. No Lua here: foreign callbacks never reach an interpreter.
 */
#ifndef FLEET_SERVER_DAEMON_H
#define FLEET_SERVER_DAEMON_H

#include "base/buf.h"
#include "base/listener.h"
#include "base/poller.h"

struct MHD_Response;

struct limits {
  size_t max_body;   /* bytes; beyond it the reply is 413 */
  size_t max_bodies; /* bytes of large bodies together; beyond them the reply is 503 */
  unsigned max_connections;
  double timeout; /* seconds: wait for an answer */
  double arrival; /* seconds: idle connection, arrival of headers, of a body */
};

/* PEM texts; certificate NULL: plain HTTP. trust: whose clients' certificates are asked for, or NULL. */
struct tls {
  const char *certificate, *key, *trust;
};

/* Who asks. */
struct peer {
  char address[46];      /* "" on a Unix socket */
  long uid;              /* on a Unix socket, else -1 */
  char certificate[128]; /* common name of a verified client certificate, or "" */
};

struct daemon {
  struct poller poller; /* its descriptor is readable when daemon_run has something to do */
  struct MHD_Daemon *mhd;
  int watched_up_to; /* where poll(2) waits: no watched descriptor is higher */
  double due;        /* the earliest deadline, CLOCK_MONOTONIC seconds; 0: none */
  bool closing;
  bool quiet; /* accepts no more connections */
  bool asks_certificates;
  bool asks_heads; /* the head of a request with a large body is taken before the body is read */
  size_t reserved; /* bytes for large bodies */
  bool left;       /* a connection has ended in the last daemon_run: another may be let in */
  struct limits limits;
  struct listener listener;
  struct visitor *visitors;      /* all connections */
  unsigned count;                /* of them */
  struct exchange *exchanges;    /* all that are alive */
  struct exchange *first, *last; /* the queue */
};

/* How a body is written, for those who test what their client makes of a bad line. */
struct pace {
  size_t piece; /* bytes per step, 0: all */
  double every; /* seconds between two steps */
  bool cuts;    /* the connection is closed after cut bytes */
  size_t cut;
};

bool is_token(struct bytes name); /* the name of a header: RFC 9110 section 5.6.2 */

struct exchange; /* one request and its reply; lives until its connection and its holder are done with it */

/* limits and listener are filled in; takes the listener over. The texts are read before it returns. */
bool daemon_open(struct daemon *d, const struct tls *t, struct err *e);
void daemon_run(struct daemon *d);              /* never waits */
struct exchange *daemon_take(struct daemon *d); /* a request, each once; the caller holds it. NULL: none */
void daemon_wake(struct daemon *d);             /* makes the descriptor readable */
bool daemon_forked(const struct daemon *d);
void daemon_close(struct daemon *d); /* answers open requests with 503; idempotent */

/* Stops listening. Accepted connections continue until their request has ended. */
void daemon_quiet(struct daemon *d);
/* A second daemon listens at the same place: share before it is opened, hand over when it is open. */
bool daemon_share(const struct daemon *from, struct listener *to, struct err *e);
void daemon_hand_over(struct daemon *from, struct daemon *to);

const char *exchange_method(const struct exchange *x);
struct bytes exchange_target(const struct exchange *x);  /* path and query as they came */
struct bytes exchange_headers(const struct exchange *x); /* name NUL value NUL ..., names in lower case */
struct bytes exchange_body(const struct exchange *x);
bool exchange_answered(const struct exchange *x);
bool exchange_is_head(const struct exchange *x); /* its body has not been read */
void exchange_read_body(struct exchange *x);     /* of a head: it comes again when the body has arrived */
bool exchange_peer(const struct exchange *x, struct peer *p); /* false: the connection has gone */
/* Takes the response over and sends it after so many seconds. False: the client or the server has gone, or
 * the deadline has passed. After it, and after exchange_drop, daemon_run must run before the caller waits. */
bool exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response, double delay);
bool exchange_drop(struct exchange *x, double delay); /* closes the connection without a reply */
/* A response that follows the pace; NULL: out of memory. The body is copied. */
struct MHD_Response *exchange_paced(struct exchange *x, struct bytes body, const struct pace *pace);
void exchange_release(struct exchange *x);

#endif
