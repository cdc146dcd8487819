#include "server/internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Per connection: request line, headers and reply headers. The library clears all of it between two requests,
 * which at its own 32 KB costs more than serving one. */
enum { HEADER_MEMORY = 12 * 1024 };
enum { USUAL_HEADERS = 512 /* bytes of a request's, without its line */ };
enum { SMALL_BODY = 4096 /* bytes that are read without a question */ };

/* ---- refusals without calling the handler ---- */

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *text) {
  struct MHD_Response *r = exchange_text(text);
  if (!r) return MHD_NO;
  MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
  enum MHD_Result done = MHD_queue_response(x->connection, status, r);
  MHD_destroy_response(r);
  x->stage = REFUSED;
  return done;
}

static const char *header(const struct exchange *x, const char *name) {
  return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* How large a body may come; beyond the limit it is said to be too large. */
static unsigned long long announced(const struct exchange *x) {
  const char *text = header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (text) return strtoull(text, NULL, 10);
  return header(x, MHD_HTTP_HEADER_TRANSFER_ENCODING) ? x->daemon->limits.max_body : 0;
}

/* How often the headers, whose names are in lower case, say where the body ends. */
static int framings(const struct exchange *x) {
  const char *at = (const char *)x->headers.data, *end = at + x->headers.size;
  int count = 0;
  for (; at < end; at += strlen(at) + 1) { /* a name, then its value */
    count += strcmp(at, "content-length") == 0 || strcmp(at, "transfer-encoding") == 0;
    at += strlen(at) + 1;
  }
  return count;
}

/* A body with two lengths or an unknown transfer coding is refused: a proxy before this server may have read
 * another length (RFC 9112 sections 6.1 and 6.3). */
static bool badly_framed(const struct exchange *x, const char *version) {
  const char *coding = header(x, MHD_HTTP_HEADER_TRANSFER_ENCODING);
  return framings(x) > 1 ||
         (coding && (strcasecmp(coding, "chunked") != 0 || strcmp(version, "HTTP/1.1") != 0));
}

/* ---- callbacks of the library, all within MHD_run ---- */

static enum MHD_Result queue(struct exchange *x) {
  if (x->daemon->closing) return refuse(x, 503, "the server is closing\n");
  if (!buf_ok(&x->headers) || !buf_ok(&x->target)) return MHD_NO;
  x->stage = QUEUED;
  exchange_suspend(x, x->daemon->limits.timeout);
  exchange_enqueue(x->daemon, x);
  return MHD_YES;
}

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection) {
  (void)connection;
  return exchange_new(cls, target);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct buf *headers = cls;
  size_t from = headers->size;
  (void)kind;
  buf_add(headers, name, strlen(name) + 1);
  for (size_t i = from; i < headers->size; i++)
    if (headers->data[i] >= 'A' && headers->data[i] <= 'Z') headers->data[i] += 'a' - 'A';
  if (!value) value = "";
  buf_add(headers, value, strlen(value) + 1);
  return MHD_YES;
}

/* What its handler does not refuse by its head is read; small bodies are read at once. */
static enum MHD_Result expect_body(struct exchange *x, unsigned long long size) {
  if (size > x->daemon->limits.max_body) return refuse(x, 413, "the body is too large\n");
  if (size <= SMALL_BODY) return MHD_YES;
  x->announced = (size_t)size;
  if (!x->daemon->asks_heads)
    return exchange_reserve(x, x->announced) ? MHD_YES : refuse(x, 503, TOO_MANY_BODIES);
  x->head = true;
  return queue(x);
}

static enum MHD_Result begin(struct exchange *x, struct MHD_Connection *connection, const char *method,
                             const char *version) {
  struct visitor *v = connection_visitor(connection);
  if (v) v->due = 0;
  x->started = true;
  x->connection = connection;
  x->due = poller_now() + x->daemon->limits.arrival;
  if (strlen(method) >= sizeof x->method) return refuse(x, 501, "unknown method\n");
  strcpy(x->method, method);
  buf_reserve(&x->headers, USUAL_HEADERS);
  MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &x->headers);
  if (!head_is_well_formed(x, method, version, &x->body_from))
    return refuse(x, 400, "the head of the request is malformed: RFC 9112 sections 2 to 5\n");
  if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host") && strcmp(version, "HTTP/1.1") == 0)
    return refuse(x, 400, "a request by HTTP/1.1 names its Host: RFC 9112 section 3.2\n");
  if (badly_framed(x, version))
    return refuse(x, 400, "the body has two lengths, or a coding other than chunked\n");
  return expect_body(x, announced(x));
}

/* A buffer of a chunked body holds pieces of data, with lines of the framing between them. It begins with a
 * line or a piece. */
static bool has_bare_line_feed(struct exchange *x, const char *data, size_t size) {
  if (!x->body_from) return false;
  const char *at = x->body_end && data > x->body_end ? x->body_end : x->body_from;
  x->body_end = data + size;
  for (; at < data; at++)
    if (*at == '\n' && (at == x->body_from || at[-1] != '\r')) return true;
  return false;
}

/* A reply cannot be queued while a body is arriving. The rest of a body that is too long is discarded; if it
 * is far too long or far too slow, the connection is closed. */
static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *size) {
  size_t limit = x->daemon->limits.max_body, room = limit - x->body.size;
  if (x->too_large) room = 4 * limit + 1024 > x->allowed ? 4 * limit + 1024 - x->allowed : 0;
  if (poller_now() > x->due) return MHD_NO;
  x->misread = x->misread || has_bare_line_feed(x, data, *size);
  if (x->too_large && *size > room) return MHD_NO;
  if (!x->too_large && *size > room) x->too_large = true;
  if (x->too_large)
    x->allowed += *size;
  else
    buf_add(&x->body, data, *size);
  *size = 0;
  return MHD_YES;
}

static enum MHD_Result hand_over(struct exchange *x) {
  if (x->misread) return refuse(x, 400, "a line of the chunked body ends without CR\n");
  if (x->too_large) return refuse(x, 413, "the body is too large\n");
  if (!buf_ok(&x->body)) return MHD_NO;
  x->allowed = 0;
  return queue(x);
}

/* The connection ends after this reply when the server has stopped listening, or when the body was refused by
 * its head and is not read. */
static enum MHD_Result reply(struct exchange *x) {
  if (x->drop || !x->response) return MHD_NO;
  if (x->daemon->quiet || x->head) MHD_add_response_header(x->response, MHD_HTTP_HEADER_CONNECTION, "close");
  enum MHD_Result done = MHD_queue_response(x->connection, x->status, x->response);
  MHD_destroy_response(x->response);
  x->response = NULL;
  return done;
}

static enum MHD_Result on_call(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *size,
                               void **context) {
  struct exchange *x = *context;
  (void)cls, (void)url;
  if (!x) return MHD_NO;
  if (!x->started) return begin(x, connection, method, version);
  if (*size) return take_body(x, data, size);
  if (x->stage == ARRIVING && x->head) return x->head = false, MHD_YES; /* the body may come */
  if (x->stage == ARRIVING) return hand_over(x);
  return reply(x);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
  struct exchange *x = *context;
  struct visitor *v = connection_visitor(connection);
  (void)code;
  *context = NULL;
  if (v) connection_awaits(cls, v);
  if (x) exchange_gone(x);
}

/* ---- starting ---- */

enum { MORE_OPTIONS = 6 };

static const char VERSIONS[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* Certificates, and how strictly the library reads: an end mark behind them. */
static void more_options(const struct tls *t, struct MHD_OptionItem *o) {
  struct MHD_OptionItem end = {MHD_OPTION_END, 0, NULL};
  if (t->certificate) {
    *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)t->certificate};
    *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)t->key};
    *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)VERSIONS};
    if (t->trust) *o++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)t->trust};
  }
#if MHD_VERSION >= VERSION_OF_DISCIPLINE
  *o++ = (struct MHD_OptionItem){MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL};
#endif
  *o = end;
}

static struct MHD_Daemon *start(struct daemon *d, const struct tls *t) {
  unsigned seconds = d->limits.arrival < 1 ? 1 : (unsigned)d->limits.arrival;
  unsigned flags = sockets_flags | MHD_ALLOW_SUSPEND_RESUME | (t->certificate ? (unsigned)MHD_USE_TLS : 0);
  struct MHD_OptionItem more[MORE_OPTIONS];
  more_options(t, more);
  return MHD_start_daemon(flags, 0, NULL, NULL, on_call, d, MHD_OPTION_LISTEN_SOCKET, d->listener.fd,
                          MHD_OPTION_CONNECTION_LIMIT, d->limits.max_connections,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_MEMORY,
                          MHD_OPTION_CONNECTION_TIMEOUT, seconds, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
                          d, MHD_OPTION_NOTIFY_CONNECTION, connection_notified, d,
                          MHD_OPTION_URI_LOG_CALLBACK, on_target, d, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

bool daemon_open(struct daemon *d, const struct tls *t, struct err *e) {
  bool opened = poller_open(&d->poller, e) && poller_export(&d->poller, e);
  if (opened) d->mhd = start(d, t);
  if (d->mhd && sockets_join(d)) return true;
  if (!d->mhd)
    close_fd(&d->listener.fd), listener_unlink(&d->listener); /* a started library closes it itself */
  daemon_close(d);
  return err_set(e, KIND_network,
                 t->certificate
                     ? "the HTTPS server cannot be started: the certificate or its key cannot be "
                       "read, or too few descriptors or too little memory"
                     : "the HTTP server cannot be started: too few descriptors or too little memory");
}

/* ---- running ---- */

enum { TURNS = 4 /* calls of the library in one run; the rest waits for the timer */ };

void daemon_run(struct daemon *d) {
  MHD_UNSIGNED_LONG_LONG milliseconds;
  bool due = true, waits = false;
  d->left = false;
  deadline_look(d);
  for (int turn = 0; due && turn < TURNS; turn++) {
    sockets_run(d);
    waits = MHD_get_timeout(d->mhd, &milliseconds) == MHD_YES;
    due = (waits && milliseconds == 0) || (sockets_write_late && turn == 0);
  }
  sockets_follow(d);
  if (waits) poller_arm(&d->poller, (double)milliseconds / 1e3);
}

/* Once for all answers that are given before the loop's next step. */
void daemon_wake(struct daemon *d) {
  poller_arm(&d->poller, 0);
}

struct exchange *daemon_take(struct daemon *d) {
  struct exchange *x = exchange_dequeue(d);
  if (!x) return NULL;
  x->stage = HANDED;
  x->holders++;
  return x;
}

bool daemon_forked(const struct daemon *d) {
  return poller_forked(&d->poller);
}

/* ---- ending ---- */

void daemon_quiet(struct daemon *d) {
  if (d->quiet) return;
  d->quiet = true;
  MHD_quiesce_daemon(d->mhd);
  sockets_follow(d);
  close_fd(&d->listener.fd);
  listener_unlink(&d->listener);
}

bool daemon_share(const struct daemon *from, struct listener *to, struct err *e) {
  *to = from->listener;
  to->path[0] = '\0'; /* not its own yet: it may fail to start */
  to->fd = from->quiet ? -1 : listener_duplicate(&from->listener);
  return to->fd >= 0 || err_set(e, KIND_network, "the other server does not listen any more");
}

void daemon_hand_over(struct daemon *from, struct daemon *to) {
  memcpy(to->listener.path, from->listener.path, sizeof to->listener.path);
  from->listener.path[0] = '\0';
  daemon_quiet(from);
}

/* The library aborts the process when it is stopped with a suspended connection: wake all of them first. */
static void wake_all(struct daemon *d) {
  d->closing = true;
  for (struct exchange *x = d->exchanges; x; x = x->after) {
    if (!exchange_answered(x))
      exchange_answer(x, 503, exchange_text("the server is closing\n"), 0);
    else
      exchange_resume(x);
  }
  for (int round = 0; round < 2; round++) MHD_run(d->mhd);
}

/* After a fork the library's sockets belong to the parent: the child must not write to them, shut them down,
 * or remove them from the shared epoll instances. The library's memory is freed when the child ends. */
static void abandon(struct daemon *d) {
  close_fd(&d->listener.fd);
  for (struct visitor *v = d->visitors; v; v = v->after) {
    int fd = connection_socket(v->connection);
    if (fd >= 0) close(fd);
  }
}

void daemon_close(struct daemon *d) {
  if (d->mhd && daemon_forked(d)) {
    abandon(d);
  } else if (d->mhd) {
    wake_all(d);
    MHD_stop_daemon(d->mhd);
    if (!d->quiet) listener_unlink(&d->listener);
  }
  for (struct exchange *x = d->exchanges; x; x = x->after) x->stage = GONE;
  d->mhd = NULL;
  poller_close(&d->poller);
}
