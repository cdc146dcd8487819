#include "server/daemon.h"

#include "base/fork.h"

#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Per connection: request line, headers and reply headers. The library clears all of it between two requests,
 * which at its own 32 KB costs more than serving one. */
enum { HEADER_MEMORY = 12 * 1024 };

enum stage { ARRIVING, QUEUED, HANDED, ANSWERED, REFUSED, GONE };

struct exchange {
  struct daemon *daemon; /* NULL once it is closed */
  struct MHD_Connection *connection;
  struct exchange *before, *after; /* all of a daemon */
  struct exchange *next;           /* queue */
  int holders;                     /* connection, caller, paced response */
  enum stage stage;
  bool started, suspended, too_large, drop;
  double due; /* when the timer must look at it, 0: never */
  char method[16];
  struct buf target, headers, body;
  struct MHD_Response *response;
  unsigned status;
  struct pace pace;
  struct buf reply; /* of a paced response */
  size_t allowed;   /* bytes of it that may leave by now */
};

/* One connection. The library's own time-out starts anew with every byte, so a client that sends its headers
 * byte by byte would stay for ever: here it has one deadline for all of them. */
struct visitor {
  struct MHD_Connection *connection;
  struct visitor *before, *after;
  double due; /* for the next request to have arrived up to its body, 0: one is being served */
};

static const double AT_ONCE = 1e-6; /* a moment long past on the monotonic clock */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- timer ---- */

/* Only ever moved forward; when it fires, the next moment is looked up. That costs one system call per second
 * or so instead of one per request. */
static void arm(struct daemon *d, double at) {
  if (at < AT_ONCE) at = AT_ONCE;
  if (d->armed > 0 && d->armed <= at) return;
  double whole = floor(at), nanoseconds = (at - whole) * 1e9;
  struct itimerspec t = {{0, 0}, {(time_t)whole, (long)fmin(nanoseconds, 999999999.0)}};
  timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
  d->armed = at;
}

static void schedule(struct exchange *x, double after) {
  x->due = now() + after;
  arm(x->daemon, x->due);
}

/* ---- life of an exchange ---- */

static struct exchange *exchange_new(struct daemon *d, const char *target) {
  struct exchange *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->daemon = d;
  x->holders = 1;
  x->after = d->exchanges;
  if (x->after) x->after->before = x;
  d->exchanges = x;
  buf_text_add(&x->target, target);
  return x;
}

void exchange_release(struct exchange *x) {
  if (--x->holders) return;
  buf_free(&x->target);
  buf_free(&x->headers);
  buf_free(&x->body);
  buf_free(&x->reply);
  free(x);
}

static void unlink_exchange(struct exchange *x) {
  if (x->before)
    x->before->after = x->after;
  else
    x->daemon->exchanges = x->after;
  if (x->after) x->after->before = x->before;
  x->before = x->after = NULL;
  x->daemon = NULL;
}

static void enqueue(struct daemon *d, struct exchange *x) {
  x->next = NULL;
  if (d->last)
    d->last->next = x;
  else
    d->first = x;
  d->last = x;
}

static struct exchange *dequeue(struct daemon *d) {
  struct exchange *x = d->first;
  if (!x) return NULL;
  d->first = x->next;
  if (!d->first) d->last = NULL;
  x->next = NULL;
  return x;
}

static void forget_queued(struct daemon *d, const struct exchange *gone) {
  struct exchange *all = d->first;
  d->first = d->last = NULL;
  for (struct exchange *x = all, *next; x; x = next) {
    next = x->next;
    if (x != gone) enqueue(d, x);
  }
}

static void resume(struct exchange *x) {
  if (!x->suspended) return;
  x->suspended = false;
  MHD_resume_connection(x->connection);
}

static void suspend(struct exchange *x, double seconds) {
  MHD_suspend_connection(x->connection);
  x->suspended = true;
  schedule(x, seconds);
}

/* ---- connections ---- */

static struct visitor *visitor_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

static void await_request(struct daemon *d, struct visitor *v) {
  v->due = now() + d->limits.timeout;
  arm(d, v->due);
}

static void welcome(struct daemon *d, struct MHD_Connection *connection, void **context) {
  struct visitor *v = *context = calloc(1, sizeof *v);
  if (!v) return; /* without a deadline of ours */
  v->connection = connection;
  v->after = d->visitors;
  if (v->after) v->after->before = v;
  d->visitors = v;
  await_request(d, v);
}

static void farewell(struct daemon *d, struct visitor *v) {
  d->left = true;
  if (!v) return;
  if (v->before)
    v->before->after = v->after;
  else
    d->visitors = v->after;
  if (v->after) v->after->before = v->before;
  free(v);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what) {
  if (what == MHD_CONNECTION_NOTIFY_STARTED)
    welcome(cls, connection, context);
  else
    farewell(cls, *context);
}

static int socket_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      connection ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
  return info ? info->connect_fd : -1;
}

/* The library notices and cleans up. */
static void turn_away(struct visitor *v) {
  v->due = 0;
  shutdown(socket_of(v->connection), SHUT_RDWR);
}

/* ---- replies made here ---- */

static struct MHD_Response *plain(const char *text) {
  struct MHD_Response *r =
      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
  if (r) MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
  return r;
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *text) {
  struct MHD_Response *r = plain(text);
  if (!r) return MHD_NO;
  MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
  enum MHD_Result done = MHD_queue_response(x->connection, status, r);
  MHD_destroy_response(r);
  x->stage = REFUSED;
  return done;
}

/* ---- callbacks of the library, all within MHD_run ---- */

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection) {
  (void)connection;
  return exchange_new(cls, target);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct buf *headers = cls;
  (void)kind;
  for (; *name; name++) buf_put(headers, (unsigned char)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name));
  buf_put(headers, 0);
  buf_text_add(headers, value ? value : "");
  buf_put(headers, 0);
  return MHD_YES;
}

static bool announced_too_large(struct exchange *x) {
  const char *text =
      MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return text && strtoull(text, NULL, 10) > x->daemon->limits.max_body;
}

static enum MHD_Result begin(struct exchange *x, struct MHD_Connection *connection, const char *method) {
  struct visitor *v = visitor_of(connection);
  if (v) v->due = 0;
  x->started = true;
  x->connection = connection;
  x->due = now() + x->daemon->limits.timeout;
  if (strlen(method) >= sizeof x->method) return refuse(x, 501, "unknown method\n");
  strcpy(x->method, method);
  MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &x->headers);
  if (announced_too_large(x)) return refuse(x, 413, "the body is too large\n");
  return MHD_YES;
}

/* A reply cannot be queued while a body is arriving: what is too much is thrown away, and far too much, or
 * far too slow, ends the connection. */
static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *size) {
  size_t limit = x->daemon->limits.max_body, room = limit - x->body.size;
  if (x->too_large) room = 4 * limit + 1024 > x->allowed ? 4 * limit + 1024 - x->allowed : 0;
  if (now() > x->due) return MHD_NO;
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
  struct daemon *d = x->daemon;
  if (x->too_large) return refuse(x, 413, "the body is too large\n");
  if (d->closing) return refuse(x, 503, "the server is closing\n");
  if (!buf_ok(&x->body) || !buf_ok(&x->headers) || !buf_ok(&x->target)) return MHD_NO;
  x->allowed = 0;
  x->stage = QUEUED;
  suspend(x, d->limits.timeout);
  enqueue(d, x);
  return MHD_YES;
}

static enum MHD_Result reply(struct exchange *x) {
  if (x->drop || !x->response) return MHD_NO;
  enum MHD_Result done = MHD_queue_response(x->connection, x->status, x->response);
  MHD_destroy_response(x->response);
  x->response = NULL;
  return done;
}

static enum MHD_Result on_call(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *size,
                               void **context) {
  struct exchange *x = *context;
  (void)cls, (void)url, (void)version;
  if (!x) return MHD_NO;
  if (!x->started) return begin(x, connection, method);
  if (*size) return take_body(x, data, size);
  if (x->stage == ARRIVING) return hand_over(x);
  return reply(x);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
  struct exchange *x = *context;
  struct visitor *v = visitor_of(connection);
  (void)code;
  *context = NULL;
  if (v) await_request(cls, v);
  if (!x) return;
  if (x->stage == QUEUED) forget_queued(x->daemon, x);
  if (x->response) MHD_destroy_response(x->response);
  x->response = NULL;
  x->connection = NULL;
  x->stage = GONE;
  unlink_exchange(x);
  exchange_release(x);
}

/* Gives what the pace allows by now; then the connection sleeps until the timer allows more. */
static ssize_t on_read(void *cls, uint64_t position, char *out, size_t capacity) {
  struct exchange *x = cls;
  size_t left = x->allowed > position ? x->allowed - (size_t)position : 0;
  if (x->daemon->closing || (x->pace.cuts && position >= x->pace.cut))
    return MHD_CONTENT_READER_END_WITH_ERROR;
  if (left > capacity) left = capacity;
  if (left)
    memcpy(out, x->reply.data + position, left);
  else
    suspend(x, x->pace.every);
  return (ssize_t)left;
}

static void on_free(void *cls) {
  exchange_release(cls);
}

/* ---- answers ---- */

static void allow(struct exchange *x) {
  size_t end = x->pace.cuts && x->pace.cut < x->reply.size ? x->pace.cut : x->reply.size;
  x->allowed = x->pace.piece && x->pace.piece < end - x->allowed ? x->allowed + x->pace.piece : end;
}

struct MHD_Response *exchange_paced(struct exchange *x, struct bytes body, const struct pace *pace) {
  buf_clear(&x->reply);
  buf_add(&x->reply, body.data, body.size);
  x->pace = *pace;
  x->allowed = 0;
  if (!buf_ok(&x->reply)) return NULL;
  allow(x);
  struct MHD_Response *r = MHD_create_response_from_callback(body.size, 4096, on_read, x, on_free);
  if (r) x->holders++;
  return r;
}

static void answer(struct exchange *x, unsigned status, struct MHD_Response *response, double delay) {
  if (x->stage == QUEUED) forget_queued(x->daemon, x);
  x->stage = ANSWERED;
  x->status = status;
  x->response = response;
  if (delay > 0)
    schedule(x, delay);
  else
    x->due = 0, resume(x);
}

bool exchange_answered(const struct exchange *x) {
  return x->stage != QUEUED && x->stage != HANDED;
}

bool exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response, double delay) {
  bool open = !exchange_answered(x);
  if (open)
    answer(x, status, response, delay);
  else
    MHD_destroy_response(response);
  return open;
}

bool exchange_drop(struct exchange *x, double delay) {
  if (exchange_answered(x)) return false;
  x->drop = true;
  answer(x, 0, NULL, delay);
  return true;
}

/* ---- deadlines ---- */

static void expire(struct exchange *x) {
  x->due = 0;
  if (!exchange_answered(x)) {
    answer(x, 503, plain("no answer within the time limit\n"), 0);
  } else if (x->stage == ANSWERED) {
    if (!x->response && !x->drop) allow(x); /* a paced reply is under way */
    resume(x);
  }
}

static void look_at_deadlines(struct daemon *d) {
  uint64_t fired;
  if (d->armed <= 0 || now() < d->armed) return;
  if (read(d->timer_fd, &fired, sizeof fired) != sizeof fired) return;
  d->armed = 0;
  double at = now(), next = INFINITY;
  for (struct exchange *x = d->exchanges; x; x = x->after) {
    if (!x->suspended || x->due <= 0) continue;
    if (x->due <= at)
      expire(x);
    else if (x->due < next)
      next = x->due;
  }
  for (struct visitor *v = d->visitors; v; v = v->after) {
    if (v->due > 0 && v->due <= at)
      turn_away(v);
    else if (v->due > 0 && v->due < next)
      next = v->due;
  }
  if (isfinite(next)) arm(d, next);
}

/* ---- the daemon ---- */

static bool watch(int epoll_fd, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static struct MHD_Daemon *start(struct daemon *d) {
  unsigned seconds = d->limits.timeout < 1 ? 1 : (unsigned)d->limits.timeout;
  return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_call, d,
                          MHD_OPTION_LISTEN_SOCKET, d->listener.fd, MHD_OPTION_CONNECTION_LIMIT,
                          d->limits.max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                          (size_t)HEADER_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, seconds,
                          MHD_OPTION_NOTIFY_COMPLETED, on_completed, d, MHD_OPTION_NOTIFY_CONNECTION,
                          on_connection, d, MHD_OPTION_URI_LOG_CALLBACK, on_target, d, MHD_OPTION_END);
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* One epoll instance around the library's own and a timer, so that a loop has one descriptor to wait for. */
static bool join(struct daemon *d) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(d->mhd, MHD_DAEMON_INFO_EPOLL_FD);
  d->fd = epoll_create1(EPOLL_CLOEXEC);
  d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return info && d->fd >= 0 && d->timer_fd >= 0 && watch(d->fd, info->epoll_fd) && watch(d->fd, d->timer_fd);
}

bool daemon_open(struct daemon *d, struct err *e) {
  d->fd = d->timer_fd = -1;
  d->generation = fork_generation();
  d->mhd = start(d);
  if (d->mhd && join(d)) return true;
  if (!d->mhd)
    close_fd(&d->listener.fd), listener_unlink(&d->listener); /* a started library closes it itself */
  daemon_close(d);
  return err_set(e, KIND_network,
                 "the HTTP server cannot be started: too few descriptors or too little memory");
}

enum { TURNS = 4 /* of the library in one run: what is left after them waits for the timer */ };

void daemon_run(struct daemon *d) {
  MHD_UNSIGNED_LONG_LONG milliseconds;
  bool due = true, waits = false;
  d->left = false;
  look_at_deadlines(d);
  for (int turn = 0; due && turn < TURNS; turn++) {
    MHD_run(d->mhd);
    waits = MHD_get_timeout(d->mhd, &milliseconds) == MHD_YES;
    due = waits && milliseconds == 0;
  }
  if (waits) arm(d, due ? AT_ONCE : now() + (double)milliseconds / 1e3);
}

void daemon_wake(struct daemon *d) {
  arm(d, AT_ONCE);
}

struct exchange *daemon_take(struct daemon *d) {
  struct exchange *x = dequeue(d);
  if (!x) return NULL;
  x->stage = HANDED;
  x->holders++;
  return x;
}

bool daemon_forked(const struct daemon *d) {
  return d->generation != fork_generation();
}

/* The library aborts the process when it is stopped with a suspended connection: wake all of them first. */
static void wake_all(struct daemon *d) {
  d->closing = true;
  for (struct exchange *x = d->exchanges; x; x = x->after) {
    if (!exchange_answered(x))
      answer(x, 503, plain("the server is closing\n"), 0);
    else
      resume(x);
  }
  for (int round = 0; round < 2; round++) MHD_run(d->mhd);
}

/* After a fork everything behind the library's descriptors belongs to the parent: nothing may be written,
 * shut down or taken out of the shared epoll instances. The library's memory is given up with the child. */
static void abandon(struct daemon *d) {
  close_fd(&d->listener.fd);
  for (struct visitor *v = d->visitors; v; v = v->after) {
    int fd = socket_of(v->connection);
    if (fd >= 0) close(fd);
  }
}

void daemon_close(struct daemon *d) {
  if (d->mhd && daemon_forked(d)) {
    abandon(d);
  } else if (d->mhd) {
    wake_all(d);
    MHD_stop_daemon(d->mhd);
    listener_unlink(&d->listener);
  }
  for (struct exchange *x = d->exchanges; x; x = x->after) x->stage = GONE;
  d->mhd = NULL;
  close_fd(&d->fd);
  close_fd(&d->timer_fd);
}

/* ---- what a request says ---- */

const char *exchange_method(const struct exchange *x) {
  return x->method;
}

struct bytes exchange_target(const struct exchange *x) {
  return buf_bytes(&x->target);
}

struct bytes exchange_headers(const struct exchange *x) {
  return buf_bytes(&x->headers);
}

struct bytes exchange_body(const struct exchange *x) {
  return buf_bytes(&x->body);
}
