#include "stream/server.h"

#include "base/sockets.h"
#include "base/utf8.h"
#include "stream/frames.h"
#include "stream/socket_bio.h"
#include "stream/trust.h"
#include "stream/upgrade.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
  EVENTS = 64,          /* looked at in a step */
  ACCEPTED = 64,        /* connections taken in a step: the others wait in the kernel */
  PIECE = 16384,        /* bytes read at once, a TLS record */
  PIECES = 4,           /* of one connection in a step */
  TAKEN = PIECE + 512,  /* bytes of the socket for one call of TLS, which takes further ones for itself */
  UNSENT = 262144,      /* bytes of answers that a connection does not read */
  LONGEST_ECHO = 1024,  /* of txid and topic in an acknowledgement */
  LONGEST_ANSWER = 512, /* in a TLS record; the least that OpenSSL allows */
  UNACKNOWLEDGED_MESSAGES = 4, /* of the greatest size: so many bytes wait for their acknowledgement */
  HANDSHAKES_TRIMMED = 256,    /* after so many the memory that they used goes back to the system */
  CONNECTIONS_TRIMMED = 4096,  /* it takes 2 us a connection: with more of them a turn would be too long */
};
/* Seconds that a step works. Lua adds up to twice as much to a tick of the loop: it takes arrivals and calls
 * functions (longest_drain in telemetry/init.lua). */
static const double turn = 0.002;
static const double patience = 1.0 / 8; /* of limits.arrival: for a peer that owes bytes while others wait */
static const double tick = 1;           /* seconds between looks at deadlines */

enum state { READS_PROXY, SHAKES_HANDS, READS_UPGRADE, WAITS_FOR_ADMISSION, OPEN, ENDS, GONE };

struct connection {
  struct connection *next, *previous,
      *resumes; /* of all, or of those that have gone; of those whose TLS holds bytes */
  int fd;
  enum state state;
  unsigned events; /* that the poller waits for */
  unsigned references, unacknowledged;
  size_t unacknowledged_bytes;
  struct arrival *newest;                    /* of the messages that wait for their answer */
  bool admitted, paused, resuming, orphaned; /* orphaned: the receiver has closed */
  double began, deadline;                    /* CLOCK_MONOTONIC; deadline 0: none */
  SSL *ssl;
  struct socket_source source;
  bool write_first; /* TLS owes bytes to the peer before it reads further */
  struct frames frames;
  struct buf head, out;
  size_t sent;
  struct identity identity;
  uint64_t number;
  char address[INET6_ADDRSTRLEN];
  char *texts[CONNECTION_TEXTS];
};

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool library_failure(const char *what, struct err *e) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return err_set(e, KIND_tls, "%s: %s", what, text);
}

/* ---- certificates ---- */

static SSL_CTX *new_context(struct bytes certificate, struct bytes key, struct bytes client_ca,
                            struct err *e) {
  ERR_clear_error();
  STACK_OF(X509) *authorities = client_ca.data ? certificates_of(client_ca, "client_ca", e) : NULL;
  if (client_ca.data && !authorities) return NULL;
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  bool good = context && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
  if (good) {
    /* Without tickets and a cache a connection keeps 20 KB; its buffers go while it is idle. */
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1); /* one system call reads a whole TLS record, not head and body */
    good =
        use_chain(context, certificate, key, e) && (!authorities || trust_clients(context, authorities, e));
  } else {
    library_failure("no TLS", e);
  }
  sk_X509_pop_free(authorities, X509_free);
  if (good) return context;
  SSL_CTX_free(context);
  return NULL;
}

/* ---- bytes of a connection, with TLS and without ---- */

enum io { IO_DONE, IO_WAITS, IO_ENDED, IO_BROKEN };

static enum io io_of(ssize_t done) {
  if (done >= 0) return done ? IO_DONE : IO_ENDED;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_WAITS : IO_BROKEN;
}

static enum io tls_io(SSL *ssl, int result) {
  if (result == 1) return IO_DONE;
  int error = SSL_get_error(ssl, 0);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return IO_WAITS;
  ERR_clear_error();
  return error == SSL_ERROR_ZERO_RETURN ? IO_ENDED : IO_BROKEN;
}

static enum io read_bytes(struct connection *c, unsigned char *room, size_t size, size_t *got) {
  if (c->ssl) {
    ERR_clear_error();
    return tls_io(c->ssl, SSL_read_ex(c->ssl, room, size, got));
  }
  ssize_t done = recv(c->fd, room, size, 0);
  *got = done > 0 ? (size_t)done : 0;
  return io_of(done);
}

static enum io write_bytes(struct connection *c, const unsigned char *data, size_t size, size_t *done) {
  if (c->ssl) {
    ERR_clear_error();
    return tls_io(c->ssl, SSL_write_ex(c->ssl, data, size, done));
  }
  ssize_t sent = socket_send(c->fd, data, size);
  *done = sent > 0 ? (size_t)sent : 0;
  return io_of(sent);
}

/* ---- one connection ---- */

static void watch(struct stream_server *r, struct connection *c) {
  unsigned wanted = (unsigned)POLLER_ERROR |
                    (c->paused || c->state == ENDS ? 0
                     : c->write_first              ? (unsigned)POLLER_WRITE
                                                   : (unsigned)POLLER_READ) |
                    (c->out.size > c->sent ? (unsigned)POLLER_WRITE : 0);
  if (wanted != c->events && poller_watch(&r->poller, c->fd, wanted, 0, NULL)) c->events = wanted;
}

static void release(struct connection *c) {
  for (int i = 0; i < CONNECTION_TEXTS; i++) free(c->texts[i]);
  free(c);
}

/* Frees connections that have gone: not where that is found out, for there the caller still looks at them. */
static void sweep(struct stream_server *r) {
  struct connection **at = &r->gone;
  while (*at) {
    struct connection *c = *at;
    if (c->references || c->resuming) {
      at = &c->next;
    } else {
      *at = c->next;
      release(c);
    }
  }
}

static struct arrival *add_arrival(struct stream_server *r, struct connection *c, enum arrival_type type,
                                   const char *reason) {
  struct arrival *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  *a = (struct arrival){
      .type = type, .connection = c, .at = now(CLOCK_REALTIME), .message = BUF_INIT, .after = BUF_INIT};
  if (reason) strncpy(a->reason, reason, sizeof a->reason - 1);
  c->references++;
  if (r->last)
    r->last->next = a;
  else
    r->first = a;
  r->last = a;
  r->queued++;
  return a;
}

/* The end: the connection leaves the list; arrivals may still hold it. */
static void drop(struct stream_server *r, struct connection *c, const char *reason) {
  if (c->state == GONE) return;
  if (c->state < OPEN) r->young--;
  if (c->admitted) add_arrival(r, c, ARRIVAL_DISCONNECTED, reason);
  if (c->ssl) SSL_set_quiet_shutdown(c->ssl, 1);
  SSL_free(c->ssl);
  c->ssl = NULL;
  r->by_fd[c->fd] = NULL;
  if (!stream_server_forked(r)) poller_watch(&r->poller, c->fd, 0, 0, NULL); /* a child may hold a copy */
  close(c->fd);
  frames_free(&c->frames);
  buf_free(&c->head);
  buf_free(&c->out);
  if (c->next) c->next->previous = c->previous;
  if (c->previous)
    c->previous->next = c->next;
  else
    r->connections = c->next;
  r->count--;
  c->state = GONE;
  c->next = r->gone;
  r->gone = c;
}

static void refuse(struct stream_server *r, struct connection *c, const char *reason) {
  add_arrival(r, c, ARRIVAL_REFUSED, reason);
  drop(r, c, reason);
}

/* A peer that always reads a little late never empties the buffer: what it has read must not add up. */
static void forget_sent(struct connection *c) {
  size_t left = c->out.size - c->sent;
  if (c->sent < left) return;
  memmove(c->out.data, c->out.data + c->sent, left);
  c->out.size = left;
  c->sent = 0;
}

/* Writes what it can; false: the connection has gone. */
static bool flush(struct stream_server *r, struct connection *c) {
  if (!buf_ok(&c->out)) { /* the last frame may be there in part */
    drop(r, c, "out of memory");
    return false;
  }
  while (c->out.size > c->sent) {
    size_t done = 0;
    enum io io = write_bytes(c, c->out.data + c->sent, c->out.size - c->sent, &done);
    if (io == IO_WAITS) break;
    if (io != IO_DONE) {
      drop(r, c, "the connection broke");
      return false;
    }
    c->sent += done;
    c->deadline = 0;
  }
  if (c->out.size == c->sent) {
    buf_free(&c->out);
    c->sent = 0;
    if (c->state == ENDS) {
      if (c->ssl) SSL_shutdown(c->ssl);
      ERR_clear_error();
      drop(r, c, "closed");
      return false;
    }
  } else if (c->out.size - c->sent > UNSENT) {
    drop(r, c, "it does not read its answers");
    return false;
  } else {
    forget_sent(c);
    if (c->deadline == 0) c->deadline = now(CLOCK_MONOTONIC) + r->limits.arrival;
  }
  watch(r, c);
  return true;
}

static void end(struct stream_server *r, struct connection *c, unsigned code, struct bytes reason) {
  if (c->state == GONE || c->state == ENDS) return;
  if (c->state == OPEN) frame_write_close(&c->out, code, reason);
  c->state = ENDS;
  flush(r, c);
}

void connection_end(struct stream_server *r, struct connection *c, unsigned code, const char *reason) {
  if (code)
    end(r, c, code, bytes_of(reason));
  else
    drop(r, c, reason);
}

/* ---- messages ---- */

static bool is_configured(struct bytes topic) {
  static const char *const topics[] = {"V", "alerts", "errors", "connectivity"};
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    if (bytes_equal(topic, bytes_of(topics[i]))) return true;
  return false;
}

/* Whether the sender of an unknown topic is the device of the certificate: its id, with or without its kind.
 */
static bool is_own(const struct connection *c, struct bytes sender) {
  char whole[2 * IDENTITY_MOST];
  struct bytes id = bytes_of(c->identity.id);
  if (bytes_equal(sender, id)) return true;
  size_t kind = strlen(c->identity.kind);
  memcpy(whole, c->identity.kind, kind);
  whole[kind] = '.';
  memcpy(whole + kind + 1, id.data, id.size);
  return bytes_equal(sender, (struct bytes){(unsigned char *)whole, kind + 1 + id.size});
}

static void acknowledge(struct buf *out, struct bytes txid, struct bytes topic) {
  struct buf text = BUF_INIT;
  envelope_ack(&text, txid, topic);
  if (buf_ok(&text)) frame_write(out, FRAME_IS_BINARY, buf_bytes(&text));
  buf_free(&text);
}

static void refuse_message(struct buf *out, struct bytes txid) {
  struct buf text = BUF_INIT;
  envelope_refusal(&text, txid);
  if (buf_ok(&text)) frame_write(out, FRAME_IS_BINARY, buf_bytes(&text));
  buf_free(&text);
}

/* Where an answer goes that must not overtake that of a message, NULL: there is none. The maker's server
 * answers in the order of the messages, and a refusal may be without an id: a vehicle could take one that
 * overtakes an acknowledgement for the answer of the message before it. */
static struct buf *behind(struct connection *c, struct arrival *message, unsigned answers) {
  if (!message) return &c->out;
  message->after_count += answers;
  c->unacknowledged += answers;
  return &message->after;
}

static void damaged(struct stream_server *r, struct connection *c, struct bytes txid, const char *reason) {
  refuse_message(behind(c, c->newest, 1), txid);
  add_arrival(r, c, ARRIVAL_DAMAGED, reason);
}

static void take_message(struct stream_server *r, struct connection *c, struct bytes message) {
  struct envelope envelope;
  struct err e;
  const struct bytes nothing = {NULL, 0};
  err_clear(&e);
  r->messages++;
  if (!envelope_read(message, &envelope, &e)) {
    damaged(r, c, nothing, e.message);
  } else if (envelope.txid.size + envelope.topic.size > LONGEST_ECHO) {
    damaged(r, c, nothing, "no telemetry message: its id is longer than 1 KB");
  } else if (envelope.type != ENVELOPE_STREAM) {
    /* as the maker does it for kinds that it does not know */
    acknowledge(behind(c, c->newest, 1), envelope.txid, nothing);
  } else if (!is_configured(envelope.topic) && !is_own(c, envelope.sender_id)) {
    damaged(r, c, envelope.txid, "the message names another sender than its certificate");
  } else {
    struct arrival *a = add_arrival(r, c, ARRIVAL_MESSAGE, NULL);
    if (a) buf_add(&a->message, message.data, message.size);
    if (!a || !buf_ok(&a->message) || !envelope_read(buf_bytes(&a->message), &a->envelope, &e)) {
      end(r, c, 1011, bytes_of("out of memory")); /* without an answer: the vehicle sends it again */
      return;
    }
    a->waits = true;
    a->older = c->newest;
    if (a->older) a->older->newer = a;
    c->newest = a;
    c->unacknowledged++;
    c->unacknowledged_bytes += message.size;
  }
}

static bool is_utf8(struct bytes text) {
  while (text.size) {
    size_t size = utf8_sequence(text);
    if (!size) return false;
    text.data += size;
    text.size -= size;
  }
  return true;
}

static void take_text(struct stream_server *r, struct connection *c, struct bytes text) {
  if (!is_utf8(text)) { /* RFC 6455, 8.1 */
    end(r, c, 1007, bytes_of("the text is not UTF-8"));
    return;
  }
  struct arrival *a = add_arrival(r, c, ARRIVAL_TEXT, NULL);
  if (a) buf_add(&a->message, text.data, text.size);
  if (!a || !buf_ok(&a->message)) end(r, c, 1011, bytes_of("out of memory"));
}

bool connection_send(struct stream_server *r, struct connection *c, struct bytes text) {
  if (c->state != OPEN) return false;
  frame_write(&c->out, FRAME_IS_TEXT, text);
  bool good = flush(r, c);
  return good;
}

/* Takes what the bytes complete; false: the connection has gone or ends. */
static bool take_bytes(struct stream_server *r, struct connection *c, unsigned char *data, size_t size) {
  const struct bytes nothing = {NULL, 0};
  while (c->state == OPEN) {
    struct frame_event event = frames_take(&c->frames, &data, &size);
    switch (event.type) {
    case FRAME_MORE:
      return true;
    case FRAME_MESSAGE:
      if (r->viewers)
        end(r, c, 1003, bytes_of("texts are expected here"));
      else
        take_message(r, c, event.data);
      break;
    case FRAME_TOO_LONG:
      r->messages++;
      if (r->viewers)
        end(r, c, 1009, bytes_of("the text is longer than the limit"));
      else
        damaged(r, c, nothing, "the message is longer than the limit");
      break;
    case FRAME_PING:
      frame_write(&c->out, FRAME_IS_PONG, event.data);
      break;
    case FRAME_PONG:
      break;
    case FRAME_TEXT:
      if (r->viewers)
        take_text(r, c, event.data);
      else
        drop(r, c, "it sent text");
      break;
    case FRAME_CLOSE:
      end(r, c, event.data.size >= 2 ? (unsigned)event.data.data[0] << 8 | event.data.data[1] : 0, nothing);
      break;
    case FRAME_BAD:
      end(r, c, event.code, event.data);
      break;
    }
  }
  return false;
}

/* ---- the upgrade ---- */

static bool keep_text(struct connection *c, unsigned which, struct bytes value) {
  c->texts[which] = strndup(value.data ? (const char *)value.data : "", value.size < 128 ? value.size : 128);
  return c->texts[which] != NULL;
}

/* The head is complete: it waits for its admission, or is answered with what is wrong. */
static void judge_upgrade(struct stream_server *r, struct connection *c, struct upgrade *u) {
  if (r->viewers && u->status == 101 && u->origin.data) u->status = 403; /* a page in a browser */
  if (u->status != 101) {
    upgrade_answer(&c->out, u);
    c->state = ENDS;
    r->young--;
    flush(r, c);
    return;
  }
  if (!keep_text(c, TEXT_CLIENT_VERSION, u->client_version) ||
      !keep_text(c, TEXT_NETWORK_INTERFACE, u->network_interface) || !keep_text(c, TEXT_TXID, u->txid) ||
      !add_arrival(r, c, ARRIVAL_CONNECTED, NULL)) {
    drop(r, c, "out of memory");
    return;
  }
  c->state = WAITS_FOR_ADMISSION;
  c->paused = true;
  watch(r, c);
}

static void resume(struct stream_server *r, struct connection *c);

bool connection_admit(struct stream_server *r, struct connection *c, bool admitted) {
  struct upgrade u;
  if (c->state != WAITS_FOR_ADMISSION) return false;
  r->young--;
  c->deadline = 0;
  c->paused = false;
  c->state = OPEN;
  c->admitted = admitted;
  upgrade_read(buf_bytes(&c->head), &u);
  if (!admitted) {
    buf_text_add(&c->out, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; "
                          "charset=utf-8\r\nContent-Length: 31\r\nConnection: close\r\n\r\n"
                          "this vehicle is not listed here");
    c->state = ENDS;
  } else if (!upgrade_answer(&c->out, &u)) {
    c->state = ENDS;
  }
  if (flush(r, c) && c->state == OPEN) {
    struct buf head = c->head; /* a frame may come together with the head */
    c->head = (struct buf)BUF_INIT;
    if (head.size > u.size && take_bytes(r, c, head.data + u.size, head.size - u.size)) flush(r, c);
    buf_free(&head);
    if (c->state == OPEN) resume(r, c);
  }
  return true;
}

/* ---- reading ---- */

/* TLS may hold bytes that the socket does not show. */
static void resume(struct stream_server *r, struct connection *c) {
  if (c->resuming || c->state == GONE || !c->ssl || !SSL_has_pending(c->ssl)) return;
  c->resuming = true;
  c->resumes = r->resuming;
  r->resuming = c;
  poller_arm(&r->poller, 0);
}

static enum state first_state(const struct stream_server *r) {
  return r->context ? SHAKES_HANDS : READS_UPGRADE;
}

/* Takes the header, and no byte of what follows it. */
static void read_proxy(struct stream_server *r, struct connection *c) {
  struct proxy_header h;
  unsigned char bytes[PROXY_MOST];
  for (;;) {
    enum proxy_state state = proxy_read(buf_bytes(&c->head), &h);
    if (state == PROXY_BAD || !buf_ok(&c->head)) {
      refuse(r, c, "the balancer sent no header of the PROXY protocol");
      return;
    }
    if (state == PROXY_WHOLE) break;
    ssize_t got = recv(c->fd, bytes, h.wanted, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      refuse(r, c, "the balancer ended the connection");
      return;
    }
    buf_add(&c->head, bytes, (size_t)got);
  }
  if (h.address[0]) memcpy(c->address, h.address, sizeof c->address);
  buf_free(&c->head);
  c->state = first_state(r);
}

static void shake_hands(struct stream_server *r, struct connection *c) {
  struct err e;
  ERR_clear_error();
  c->source.left = TAKEN;
  int result = SSL_accept(c->ssl);
  if (result == 1) {
    X509 *leaf = SSL_get0_peer_certificate(c->ssl);
    err_clear(&e);
    if (!r->viewers && (!leaf || !identity_of(leaf, &c->identity, &e))) {
      refuse(r, c, leaf ? e.message : "it has no client certificate");
      return;
    }
    SSL_set_max_send_fragment(c->ssl, LONGEST_ANSWER); /* its size is that of the buffer for each answer */
    c->state = READS_UPGRADE;
    return;
  }
  int error = SSL_get_error(c->ssl, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  r->handshakes_failed++;
  long verified = SSL_get_verify_result(c->ssl);
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  if (verified != X509_V_OK)
    reason = verified == X509_V_ERR_CERT_REJECTED ? "the purpose of its certificate is not a TLS client's"
                                                  : X509_verify_cert_error_string(verified);
  else if (error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN || !reason)
    reason = "it ended the connection in the handshake";
  ERR_clear_error();
  refuse(r, c, reason);
}

static void read_upgrade(struct stream_server *r, struct connection *c, const unsigned char *data,
                         size_t size) {
  struct upgrade u;
  buf_add(&c->head, data, size);
  if (!buf_ok(&c->head))
    drop(r, c, "out of memory");
  else if (upgrade_read(buf_bytes(&c->head), &u))
    judge_upgrade(r, c, &u);
}

/* Whether more messages wait for their acknowledgement than a part of what may. */
static bool is_behind(const struct stream_server *r, const struct connection *c, unsigned part) {
  return c->unacknowledged >= (r->limits.unacknowledged + part - 1) / part ||
         c->unacknowledged_bytes > UNACKNOWLEDGED_MESSAGES * r->limits.message / part;
}

/* A peer that asks for new keys and reads none of them would otherwise keep the receiver awake. */
static void wait_for(struct stream_server *r, struct connection *c) {
  c->write_first = c->ssl && SSL_want_write(c->ssl);
  watch(r, c);
}

static void read_some(struct stream_server *r, struct connection *c) {
  for (int i = 0; i < PIECES && (c->state == READS_UPGRADE || c->state == OPEN); i++) {
    size_t got = 0;
    c->source.left = TAKEN;
    enum io io = read_bytes(c, r->room, PIECE, &got);
    if (io == IO_WAITS) {
      wait_for(r, c);
      return;
    }
    if (io != IO_DONE) {
      if (c->state == READS_UPGRADE)
        refuse(r, c, "it ended the connection before its upgrade");
      else
        drop(r, c, io == IO_ENDED ? "it ended the connection" : "the connection broke");
      return;
    }
    if (c->state == READS_UPGRADE) {
      read_upgrade(r, c, r->room, got);
    } else if (take_bytes(r, c, r->room, got) && c->out.size) {
      flush(r, c);
    }
    if (c->state == OPEN && is_behind(r, c, 1)) {
      c->paused = true;
      watch(r, c);
      return;
    }
    if (!(c->ssl ? SSL_has_pending(c->ssl) : got == PIECE)) return; /* the poller reports further bytes */
  }
  if (c->state == READS_UPGRADE || c->state == OPEN) resume(r, c);
}

static void serve(struct stream_server *r, struct connection *c, unsigned events) {
  if (events & POLLER_WRITE && c->out.size > c->sent && !flush(r, c)) return;
  if (c->state == READS_PROXY) read_proxy(r, c);
  if (c->state == SHAKES_HANDS) shake_hands(r, c);
  if (c->state == READS_UPGRADE || (c->state == OPEN && !c->paused))
    read_some(r, c);
  else if (c->state != GONE && c->state > SHAKES_HANDS && events & POLLER_ERROR)
    drop(r, c, "the connection broke");
}

/* ---- accepting ---- */

static void listen_for(struct stream_server *r, bool on) {
  if (r->accepting != on && poller_watch(&r->poller, r->listener.fd, on ? POLLER_READ : 0, 0, NULL))
    r->accepting = on;
}

static bool is_proxy(const struct stream_server *r, const struct sockaddr *address) {
  for (unsigned i = 0; i < r->proxy_count; i++)
    if (network_has(&r->proxies[i], address)) return true;
  return false;
}

static bool has_place(struct stream_server *r, int fd) {
  if (fd < r->by_fd_room) return true;
  int room = 2 * (fd + 1);
  struct connection **larger = realloc(r->by_fd, (size_t)room * sizeof(struct connection *));
  if (!larger) return false;
  for (int i = r->by_fd_room; i < room; i++) larger[i] = NULL;
  r->by_fd = larger;
  r->by_fd_room = room;
  return true;
}

/* Whether the peer has to send the next bytes. */
static bool owes_bytes(const struct connection *c) {
  char byte;
  return c->state <= READS_UPGRADE && recv(c->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

static bool add_connection(struct stream_server *r, int fd, const char address[INET6_ADDRSTRLEN],
                           bool by_proxy) {
  struct connection *c = calloc(1, sizeof *c);
  SSL *ssl = c && r->context ? SSL_new(r->context) : NULL;
  const unsigned events = POLLER_READ | POLLER_ERROR;
  const int on = 1;
  if (!c || (r->context && (!ssl || !ssl_use_socket(ssl, &c->source))) || !has_place(r, fd) ||
      !poller_watch(&r->poller, fd, events, 0, NULL)) {
    ERR_clear_error();
    SSL_free(ssl);
    free(c);
    return false;
  }
  if (ssl) SSL_set_accept_state(ssl);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  double time = now(CLOCK_MONOTONIC);
  socket_keep_alive(fd, 120, 30, 4); /* a vehicle that drove out of its network: 4 minutes */
  *c = (struct connection){.next = r->connections,
                           .fd = fd,
                           .state = by_proxy ? READS_PROXY : first_state(r),
                           .events = events,
                           .ssl = ssl,
                           .source = {.fd = fd},
                           .head = BUF_INIT,
                           .out = BUF_INIT,
                           .number = ++r->numbered,
                           .began = time,
                           .deadline = time + r->limits.arrival};
  frames_init(&c->frames, r->limits.message);
  memcpy(c->address, address, sizeof c->address);
  if (c->next) c->next->previous = c;
  r->connections = r->by_fd[fd] = c;
  r->count++;
  r->young++;
  r->accepted++;
  return true;
}

static void accept_some(struct stream_server *r) {
  for (int i = 0; i < ACCEPTED; i++) {
    union {
      struct sockaddr any;
      struct sockaddr_in v4;
      struct sockaddr_in6 v6;
    } from = {0};
    socklen_t size = sizeof from;
    char address[INET6_ADDRSTRLEN] = "";
    if (r->count >= r->limits.connections) {
      r->full = "the limit 'connections' is reached";
      listen_for(r, false);
      return;
    }
    int fd = socket_accept_async(r->listener.fd, &from.any, &size);
    if (fd < 0) {
      int code = errno;
      if (code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS) {
        r->full = code == EMFILE   ? "this process has no free file descriptor (ulimit -n)"
                  : code == ENFILE ? "the system has no free file descriptor"
                                   : "the system has no memory for it";
        listen_for(r, false); /* until a second later */
      }
      return;
    }
    if (from.any.sa_family == AF_INET) inet_ntop(AF_INET, &from.v4.sin_addr, address, sizeof address);
    if (from.any.sa_family == AF_INET6) inet_ntop(AF_INET6, &from.v6.sin6_addr, address, sizeof address);
    if (!add_connection(r, fd, address, is_proxy(r, &from.any))) close(fd);
  }
}

/* ---- time ---- */

static void set_timer(struct stream_server *r) {
  if (!r->count && r->accepting) {
    r->next_look = 0;
    return;
  }
  double time = now(CLOCK_MONOTONIC);
  if (r->next_look == 0) r->next_look = time + tick;
  poller_arm(&r->poller, fmax(r->next_look - time, 0));
}

/* While many shake hands, what a connection keeps is allocated between the 35 KB that its handshake needs for
 * a moment: without this, the process would stay twice as large. */
static void trim(struct stream_server *r) {
#ifdef __GLIBC__
  if (r->young || r->accepted - r->trimmed < HANDSHAKES_TRIMMED || r->count > CONNECTIONS_TRIMMED) return;
  malloc_trim(0);
  r->trimmed = r->accepted;
#else
  (void)r;
#endif
}

static void look_at_deadlines(struct stream_server *r) {
  double time = now(CLOCK_MONOTONIC);
  if (r->next_look == 0 || time < r->next_look) return;
  r->next_look = time + tick;
  for (struct connection *c = r->connections, *next; c; c = next) {
    next = c->next;
    bool blocks = !r->accepting && time - c->began > patience * r->limits.arrival && owes_bytes(c);
    if (!blocks && (c->deadline == 0 || time < c->deadline)) continue;
    if (c->state < OPEN)
      refuse(r, c,
             c->state <= SHAKES_HANDS    ? "no handshake in time"
             : c->state == READS_UPGRADE ? "no upgrade in time"
                                         : "it was not admitted in time");
    else
      drop(r, c, "it does not read its answers");
  }
  if (r->count < r->limits.connections) listen_for(r, true);
  trim(r);
}

/* ---- a step ---- */

static void resume_all(struct stream_server *r) {
  struct connection *c = r->resuming;
  r->resuming = NULL;
  while (c) {
    struct connection *next = c->resumes;
    c->resuming = false;
    if (c->state == READS_UPGRADE || (c->state == OPEN && !c->paused)) read_some(r, c);
    c = next;
  }
}

void stream_server_step(struct stream_server *r) {
  struct poller_event events[EVENTS];
  double until = now(CLOCK_MONOTONIC) + turn;
  r->full = NULL;
  sweep(r);
  int count = poller_wait(&r->poller, events, EVENTS, 0);
  for (int i = 0; i < count && r->queued < r->limits.queued; i++) {
    int fd = events[i].fd;
    struct connection *c = fd < r->by_fd_room ? r->by_fd[fd] : NULL; /* it may have gone in this step */
    if (fd == r->listener.fd)
      accept_some(r);
    else if (c)
      serve(r, c, events[i].events);
    if (now(CLOCK_MONOTONIC) > until) break;
  }
  if (r->queued < r->limits.queued) resume_all(r);
  look_at_deadlines(r);
  set_timer(r);
  if (r->resuming) poller_arm(&r->poller, 0);
}

/* ---- arrivals ---- */

struct arrival *stream_server_take(struct stream_server *r) {
  struct arrival *a = r->first;
  if (!a) return NULL;
  r->first = a->next;
  if (!r->first) r->last = NULL;
  a->next = NULL;
  r->queued--;
  return a;
}

static void wait_no_more(struct connection *c, struct arrival *a) {
  if (!a->waits) return;
  a->waits = false;
  if (a->older) a->older->newer = a->newer;
  if (a->newer)
    a->newer->older = a->older;
  else
    c->newest = a->older;
}

/* The message has its answer, or gets none. Answers behind it follow, or stay behind one that still waits. */
static void answered(struct stream_server *r, struct connection *c, struct arrival *a) {
  wait_no_more(c, a);
  c->unacknowledged -= 1 + a->after_count;
  c->unacknowledged_bytes -= a->message.size;
  struct buf *out = behind(c, a->older, a->after_count);
  if (a->after.size) buf_add(out, a->after.data, a->after.size);
  if (!buf_ok(&a->after) || !buf_ok(out)) {
    drop(r, c, "out of memory");
    return;
  }
  if (!flush(r, c) || c->state != OPEN || !c->paused || (c->unacknowledged && is_behind(r, c, 2))) return;
  c->paused = false;
  watch(r, c);
  resume(r, c);
}

void arrival_acknowledge(struct stream_server *r, struct arrival *a, bool good) {
  struct connection *c = a->connection;
  if (a->type != ARRIVAL_MESSAGE || a->answered) return;
  a->answered = true;
  if (c->state != OPEN) return;
  if (good)
    acknowledge(&c->out, a->envelope.txid, a->envelope.topic);
  else
    refuse_message(behind(c, a->older, 1), a->envelope.txid);
  if (good) r->acknowledged++;
  answered(r, c, a);
}

void arrival_leave(struct stream_server *r, struct arrival *a) {
  if (a->type != ARRIVAL_MESSAGE || a->answered) return;
  a->answered = true;
  if (a->connection->state != OPEN) return;
  answered(r, a->connection, a);
}

void arrival_free(struct arrival *a) {
  if (!a) return;
  struct connection *c = a->connection;
  wait_no_more(c, a);
  if (--c->references == 0 && c->orphaned) release(c);
  buf_free(&a->message);
  buf_free(&a->after);
  free(a);
}

const struct identity *connection_identity(const struct connection *c) {
  return &c->identity;
}

uint64_t connection_number(const struct connection *c) {
  return c->number;
}

const char *connection_address(const struct connection *c) {
  return c->address;
}

const char *connection_text(const struct connection *c, unsigned which) {
  return c->texts[which] ? c->texts[which] : "";
}

/* ---- opening and closing ---- */

bool stream_server_open(struct stream_server *r, struct bytes certificate, struct bytes key,
                        struct bytes client_ca, struct err *e) {
  r->room = malloc(PIECE);
  r->context = certificate.data ? new_context(certificate, key, client_ca, e) : NULL;
  r->accepting = true;
  bool good = (r->context || !certificate.data) && (r->room || err_out_of_memory(e)) &&
              poller_open(&r->poller, e) && poller_export(&r->poller, e) &&
              poller_watch(&r->poller, r->listener.fd, POLLER_READ, 0, e);
  if (!good) stream_server_close(r);
  return good;
}

bool stream_server_renew(struct stream_server *r, struct bytes certificate, struct bytes key,
                         struct bytes client_ca, struct err *e) {
  SSL_CTX *context = new_context(certificate, key, client_ca, e);
  if (!context) return false;
  SSL_CTX_free(r->context); /* connections hold the one that they began with */
  r->context = context;
  return true;
}

bool stream_server_forked(const struct stream_server *r) {
  return poller_forked(&r->poller);
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void stream_server_close(struct stream_server *r) {
  while (r->connections) {
    r->connections->admitted = false;
    drop(r, r->connections, "closed");
  }
  for (struct arrival *a; (a = stream_server_take(r));) arrival_free(a);
  for (; r->resuming; r->resuming = r->resuming->resumes) r->resuming->resuming = false;
  sweep(r);
  for (; r->gone; r->gone = r->gone->next) r->gone->orphaned = true;
  close_fd(&r->listener.fd);
  poller_close(&r->poller);
  free(r->room);
  r->room = NULL;
  free(r->by_fd);
  r->by_fd = NULL;
  r->by_fd_room = 0;
  SSL_CTX_free(r->context);
  r->context = NULL;
}
