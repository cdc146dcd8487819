/* A TLS server for vehicles behind one descriptor: handshake with a client certificate, upgrade to WebSocket,
 * envelopes in, acknowledgements out; doc/protocol.md#telemetry-stream. Or one for viewers: programs without
 * a client certificate, also without TLS, that send and are sent texts.
 *
 * Nothing runs by itself and nothing waits: the caller waits for the poller, calls
 * stream_server_step, which works for a few milliseconds at most, and takes what has arrived. No Lua here.
 */
#ifndef FLEET_STREAM_SERVER_H
#define FLEET_STREAM_SERVER_H

#include "base/listener.h"
#include "base/poller.h"
#include "stream/envelope.h"
#include "stream/identity.h"
#include "stream/proxy.h"

#include <openssl/ssl.h>

struct stream_limits {
  size_t message;          /* bytes of one */
  unsigned connections;    /* at once */
  unsigned unacknowledged; /* messages of a connection that wait for their acknowledgement; beyond, its bytes
                              wait in the kernel */
  unsigned
      queued;     /* messages that wait to be taken, of all connections; beyond, the receiver reads nothing */
  double arrival; /* seconds for handshake and upgrade, and for an answer to be read */
};

enum arrival_type {
  ARRIVAL_CONNECTED,
  ARRIVAL_MESSAGE,
  ARRIVAL_TEXT, /* of a viewer */
  ARRIVAL_DAMAGED,
  ARRIVAL_DISCONNECTED,
  ARRIVAL_REFUSED
};

struct connection; /* lives until it is closed and none of its arrivals is left */

/* What has arrived, in the order of each connection. */
struct arrival {
  struct arrival *next;
  enum arrival_type type;
  struct connection *connection;
  double at;                /* CLOCK_REALTIME */
  struct buf message;       /* the envelope's bytes, or the text; of the others empty */
  struct envelope envelope; /* views into message */
  bool answered;
  bool waits; /* a message for its answer; older, newer: its neighbours that wait, too */
  struct arrival *older, *newer;
  struct buf after;     /* frames that follow its answer: those of later messages that did not wait */
  unsigned after_count; /* of them */
  char reason[160];     /* of what was refused, damaged, or ended */
};

enum { NETWORKS = 64 };

struct stream_server {
  struct poller poller; /* its descriptor is readable when stream_server_step has something to do */
  struct listener listener;
  SSL_CTX *context; /* NULL: without TLS */
  bool viewers;     /* are served, and no vehicles */
  struct stream_limits limits;
  struct network
      proxies[NETWORKS]; /* balancers, whose connections begin with a header of the PROXY protocol */
  unsigned proxy_count;
  struct connection *connections, *gone, *resuming; /* all; closed ones; those whose TLS holds bytes */
  struct connection **by_fd;                        /* by_fd_room of them */
  int by_fd_room;
  unsigned count, young; /* connections; those before their admission */
  struct arrival *first, *last;
  unsigned queued;
  bool accepting;
  const char *full;    /* why the last step left connections to the kernel; NULL: it did not */
  double next_look;    /* at deadlines, CLOCK_MONOTONIC; 0: there are none */
  unsigned char *room; /* where bytes are read to: one for all connections */
  uint64_t accepted, handshakes_failed, messages, acknowledged, numbered;
  uint64_t trimmed; /* of accepted: when memory was given back */
};

/* PEM texts: our chain with its key, and whose clients are believed. viewers, limits and listener are filled
 * in; takes the listener over. For viewers client_ca is empty, and the others where there is no TLS. */
bool stream_server_open(struct stream_server *r, struct bytes certificate, struct bytes key,
                        struct bytes client_ca, struct err *e);
/* Other certificates for connections that come from now on; open ones go on. On failure nothing has
 * changed. */
bool stream_server_renew(struct stream_server *r, struct bytes certificate, struct bytes key,
                         struct bytes client_ca, struct err *e);
void stream_server_step(struct stream_server *r);
struct arrival *stream_server_take(struct stream_server *r); /* NULL: none; the caller frees it */
bool stream_server_forked(const struct stream_server *r);
void stream_server_close(struct stream_server *r); /* arrivals that were taken stay good; idempotent */

/* Answers the request of ARRIVAL_CONNECTED: the upgrade, or 403. */
bool connection_admit(struct stream_server *r, struct connection *c, bool admitted);
/* Answers a message: acknowledged, or refused because its payload cannot be read. Only the first answer
 * counts. */
void arrival_acknowledge(struct stream_server *r, struct arrival *a, bool good);
void arrival_leave(struct stream_server *r, struct arrival *a); /* no answer: it could not be stored */
void arrival_free(struct arrival *a);

const struct identity *
connection_identity(const struct connection *c);            /* id "" before the certificate is known */
uint64_t connection_number(const struct connection *c);     /* counts up in a receiver */
const char *connection_address(const struct connection *c); /* numeric */
const char *connection_text(const struct connection *c,
                            unsigned which); /* headers of the upgrade, "" where absent */
enum { TEXT_CLIENT_VERSION, TEXT_NETWORK_INTERFACE, TEXT_TXID, CONNECTION_TEXTS };
/* Sends a viewer a text. false: it has gone, or does not read what was sent before. */
bool connection_send(struct stream_server *r, struct connection *c, struct bytes text);
void connection_end(struct stream_server *r, struct connection *c, unsigned code,
                    const char *reason); /* a close frame, then the end; code 0: without the frame */

#endif
