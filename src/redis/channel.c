#include "redis/channel.h"

#include "base/fork.h"
#include "base/sockets.h"
#include "redis/tls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WRITTEN_KEPT = 65536 };

static bool system_failure(const char *what, int number, struct err *e) {
  return err_set(e, KIND_store, "%s: %s", what, strerror(number));
}

static bool ended(struct err *e) {
  return err_set(e, KIND_store, "Redis closed the connection");
}

/* ---- connecting ---- */

static bool start(struct channel *c, int family, const struct sockaddr *to, socklen_t size, struct err *e) {
  c->fd = socket_open_async(family, SOCK_STREAM);
  if (c->fd < 0) return system_failure("no socket for Redis", errno, e);
  if (connect(c->fd, to, size) == 0 || errno == EINPROGRESS) return true;
  return system_failure("no connection to Redis", errno, e);
}

static bool start_local(struct channel *c, const char *path, struct err *e) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof to.sun_path)
    return err_set(e, KIND_store, "the path of the socket of Redis is too long: at most %zu bytes",
                   sizeof to.sun_path - 1);
  strcpy(to.sun_path, path);
  return start(c, AF_UNIX, (const struct sockaddr *)&to, sizeof to, e);
}

static const struct addrinfo *choose(const struct addrinfo *found, unsigned attempt) {
  unsigned count = 0;
  for (const struct addrinfo *a = found; a; a = a->ai_next) count++;
  for (unsigned i = attempt % count; i > 0; i--) found = found->ai_next;
  return found;
}

/* A name is looked up while the caller waits. */
static bool start_tcp(struct channel *c, const struct address *a, struct err *e) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
  char port[16];
  struct buf text = BUF_INIT;
  buf_integer(&text, a->port);
  strncpy(port, buf_text(&text), sizeof port - 1);
  port[sizeof port - 1] = '\0';
  buf_free(&text);
  int result = getaddrinfo(a->host, port, &hints, &found);
  if (result || !found)
    return err_set(e, KIND_store, "the host of Redis has no address: %s", gai_strerror(result));
  const struct addrinfo *to = choose(found, a->attempt);
  const int on = 1;
  bool started = start(c, to->ai_family, to->ai_addr, to->ai_addrlen, e);
  freeaddrinfo(found);
  if (!started) return false;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return true;
}

bool channel_open(struct channel *c, const struct address *a, struct err *e) {
  *c = (struct channel){
      .fd = -1, .state = CHANNEL_CONNECTING, .out = BUF_INIT, .generation = fork_generation()};
  bool started = a->path ? start_local(c, a->path, e) : start_tcp(c, a, e);
  if (started && a->tls) started = (c->tls = tls_new(c->fd, a->host, a->ca_file, e)) != NULL;
  if (!started) channel_close(c);
  return started;
}

void channel_close(struct channel *c) {
  tls_free(c->tls);
  c->tls = NULL;
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
  buf_free(&c->out);
}

bool channel_forked(const struct channel *c) {
  return c->generation != fork_generation();
}

static bool connected(struct channel *c, struct err *e) {
  int number = 0;
  socklen_t size = sizeof number;
  struct pollfd ready = {.fd = c->fd, .events = POLLOUT};
  if (poll(&ready, 1, 0) <= 0) return true;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &number, &size);
  if (number) return system_failure("no connection to Redis", number, e);
  c->state = c->tls ? CHANNEL_HANDSHAKE : CHANNEL_READY;
  return true;
}

/* ---- TLS ---- */

/* Whether to go on: what TLS waits for is not yet there, or the connection is gone. */
static bool tls_goes_on(struct channel *c, enum tls_progress made, struct err *e) {
  c->tls_writes = made == TLS_WRITES;
  if (made == TLS_ENDED) return ended(e);
  return made != TLS_FAILED;
}

static bool shake_hands(struct channel *c, struct err *e) {
  enum tls_progress made = tls_handshake(c->tls, e);
  if (made == TLS_DONE) c->state = CHANNEL_READY;
  return tls_goes_on(c, made, e);
}

/* ---- bytes ---- */

/* *done is 0 where there is no room. */
static bool write_some(struct channel *c, const unsigned char *data, size_t size, size_t *done,
                       struct err *e) {
  *done = 0;
  if (c->tls) return tls_goes_on(c, tls_write(c->tls, data, size, done, e), e);
  ssize_t sent = socket_send(c->fd, data, size);
  if (sent >= 0) {
    *done = (size_t)sent;
    return true;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return true;
  return errno == EPIPE || errno == ECONNRESET ? ended(e)
                                               : system_failure("Redis cannot be written to", errno, e);
}

/* What was written goes, or a busy connection would keep all of it. */
static bool make_room(struct channel *c) {
  if (c->written < WRITTEN_KEPT) return true;
  memmove(c->out.data, c->out.data + c->written, c->out.size - c->written);
  c->out.size -= c->written;
  c->written = 0;
  return true;
}

static bool write_out(struct channel *c, struct err *e) {
  while (c->written < c->out.size) {
    size_t done;
    if (!write_some(c, c->out.data + c->written, c->out.size - c->written, &done, e)) return false;
    if (!done) return make_room(c);
    c->written += done;
  }
  buf_clear(&c->out);
  c->written = 0;
  return true;
}

bool channel_flush(struct channel *c, struct err *e) {
  if (c->state == CHANNEL_CONNECTING && !connected(c, e)) return false;
  if (c->state == CHANNEL_HANDSHAKE && !shake_hands(c, e)) return false;
  return c->state != CHANNEL_READY || write_out(c, e);
}

bool channel_read(struct channel *c, unsigned char *data, size_t size, size_t *got, struct err *e) {
  *got = 0;
  if (c->state != CHANNEL_READY) return true;
  if (c->tls) return tls_goes_on(c, tls_read(c->tls, data, size, got, e), e);
  ssize_t came = recv(c->fd, data, size, 0);
  if (came > 0) *got = (size_t)came;
  if (came == 0) return ended(e);
  if (came > 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return true;
  return errno == ECONNRESET ? ended(e) : system_failure("Redis cannot be read", errno, e);
}

bool channel_holds_more(const struct channel *c) {
  return c->tls && tls_holds_more(c->tls);
}

bool channel_wants_to_write(const struct channel *c) {
  if (c->state == CHANNEL_CONNECTING) return true;
  if (c->state == CHANNEL_HANDSHAKE) return c->tls_writes;
  return c->tls_writes || c->written < c->out.size;
}
