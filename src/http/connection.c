#include "http/connection.h"

#include "base/sockets.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An idle connection stays in the poller, because removing and adding it would cost two system calls for each
 * request. This is done only for sockets that this file opens and closes: others may be closed unseen. */
struct connection {
  unsigned watched; /* POLLER_READ, POLLER_WRITE */
  bool owned, idle;
  bool streams;      /* HTTP/2 is spoken */
  struct pool *pool; /* that watches it */
  uint64_t key;      /* of its addresses, once it has carried a request; 0: it has not */
  double idle_since; /* poller_now() seconds */
  int hint;          /* not of this socket: where to look first for a key that falls here */
};

static struct connection *find(const struct http *h, int fd) {
  return fd >= 0 && (size_t)fd < h->connections_size ? &h->connections[fd] : NULL;
}

static struct connection *find_or_add(struct http *h, int fd) {
  size_t need = (size_t)fd + 1;
  if (need <= h->connections_size) return find(h, fd);
  size_t size = need + need / 2 + 64;
  struct connection *grown = realloc(h->connections, size * sizeof *grown);
  if (!grown) return NULL;
  memset(grown + h->connections_size, 0, (size - h->connections_size) * sizeof *grown);
  h->connections = grown;
  h->connections_size = size;
  return find(h, fd);
}

static void watch(struct http *h, int fd, unsigned events) {
  struct connection *n = find(h, fd);
  n->watched = poller_watch(h->poller, fd, events, HTTP_TAG, NULL) ? events : 0;
  n->idle = false;
}

static void forget(struct connection *n) {
  *n = (struct connection){.hint = n->hint};
}

curl_socket_t connection_open(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  struct easy *c = user;
  int fd = socket_open(address->family, address->socktype, address->protocol);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
    c->transfer->stopped = HTTP_LOCAL;
  if (fd < 0) return CURL_SOCKET_BAD;
  struct connection *n = find_or_add(c->http, fd);
  if (!n) {
    close(fd);
    return CURL_SOCKET_BAD;
  }
  forget(n);
  n->owned = true;
  return fd;
}

int connection_close(void *user, curl_socket_t fd) {
  struct http *h = user;
  struct connection *n = find(h, fd);
  if (n && n->watched) watch(h, fd, 0);
  if (n) forget(n);
  return close(fd);
}

static unsigned wanted_events(int what) {
  if (what == CURL_POLL_REMOVE) return 0;
  return (what & CURL_POLL_IN ? (unsigned)POLLER_READ : 0) |
         (what & CURL_POLL_OUT ? (unsigned)POLLER_WRITE : 0);
}

/* A socket that cannot be watched is no error: its transfer ends at its deadline. An error would end them
 * all. */
int connection_watch(CURL *curl, curl_socket_t fd, int what, void *user, void *unused) {
  (void)curl, (void)unused;
  struct pool *pool = user;
  struct http *h = pool->http;
  struct connection *n = find_or_add(h, fd);
  unsigned wanted = wanted_events(what);
  if (!n) return 0;
  n->pool = pool;
  if (wanted == 0) n->idle_since = poller_now();
  n->idle = wanted == 0 && n->owned && n->watched == POLLER_READ;
  if (!n->idle && wanted != n->watched) watch(h, fd, wanted);
  return 0;
}

/* ---- may it be used again? ---- */

/* Reads away what waits, so that libcurl finds the end and not the bytes, and lets the server go. */
static void discard(int fd) {
  char bytes[4096];
  for (int i = 0; i < 64 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++) continue;
  shutdown(fd, SHUT_RDWR);
}

struct pool *connection_ready(struct http *h, int fd) {
  struct connection *n = find(h, fd);
  if (!n || !n->idle) return n && n->pool ? n->pool : &h->pools[POOL_SINGLE];
  watch(h, fd, 0);
  if (!n->streams) discard(fd);
  return NULL;
}

/* Bytes, or the end, or an error: a quiet connection has nothing to read. */
static bool socket_quiet(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static const struct curl_tlssessioninfo *tls_of(const struct easy *c) {
  struct curl_tlssessioninfo *tls = NULL;
  if (curl_easy_getinfo(c->curl, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls || !tls->internals)
    return NULL;
  return tls;
}

/* libcurl reads no more than the length of a reply. The rest of a TLS record then waits in the TLS library,
 * where the socket does not show it. If that library cannot be asked, only a safe method may use the
 * connection. */
static bool tls_quiet(const struct easy *c) {
  const struct curl_tlssessioninfo *tls = tls_of(c);
  if (!tls) return true;
  if (tls->backend == CURLSSLBACKEND_OPENSSL && c->http->tls_has_pending)
    return !c->http->tls_has_pending(tls->internals);
  return c->transfer->method->safe;
}

void connection_find_tls(struct http *h) {
  *(void **)&h->tls_has_pending = dlsym(RTLD_DEFAULT, "SSL_has_pending");
  *(void **)&h->tls_protocol = dlsym(RTLD_DEFAULT, "SSL_get0_alpn_selected");
}

/* libcurl knows the version of a reply only; this runs before the first request is written. */
bool connection_shared(const struct easy *c) {
  const struct http *h = c->http;
  const struct curl_tlssessioninfo *tls = c->pool == &h->pools[POOL_STREAMS] ? tls_of(c) : NULL;
  const unsigned char *name = NULL;
  unsigned size = 0;
  if (!tls || tls->backend != CURLSSLBACKEND_OPENSSL) return false;
  h->tls_protocol(tls->internals, &name, &size);
  return size == 2 && memcmp(name, "h2", 2) == 0;
}

static bool idle_too_long(const struct connection *n, const struct http_transfer *t) {
  return t->idle_limit > 0 && poller_now() - n->idle_since > t->idle_limit;
}

/* ---- which socket is it? ---- */

/* FNV-1a of the texts, and the ports as one step each; never 0. */
static uint64_t key_of(const struct addresses *a) {
  uint64_t key = 14695981039346656037u;
  for (const char *p = a->local; *p; p++) key = (key ^ (unsigned char)*p) * 1099511628211u;
  key = (key ^ (uint64_t)a->local_port) * 1099511628211u;
  for (const char *p = a->remote; *p; p++) key = (key ^ (unsigned char)*p) * 1099511628211u;
  key = (key ^ (uint64_t)a->remote_port) * 1099511628211u;
  return key ? key : 1;
}

static bool is_at(const struct sockaddr_storage *end, const char *address, int port) {
  const struct sockaddr_in *four = (const void *)end;
  const struct sockaddr_in6 *six = (const void *)end;
  unsigned char bytes[16];
  if (inet_pton(end->ss_family, address, bytes) != 1) return false;
  if (end->ss_family == AF_INET)
    return ntohs(four->sin_port) == port && memcmp(bytes, &four->sin_addr, sizeof four->sin_addr) == 0;
  return ntohs(six->sin6_port) == port && memcmp(bytes, &six->sin6_addr, sizeof six->sin6_addr) == 0;
}

static bool connects(int fd, const struct addresses *a) {
  struct sockaddr_storage local, remote;
  socklen_t local_size = sizeof local, remote_size = sizeof remote;
  return getsockname(fd, (struct sockaddr *)&local, &local_size) == 0 &&
         getpeername(fd, (struct sockaddr *)&remote, &remote_size) == 0 &&
         is_at(&local, a->local, a->local_port) && is_at(&remote, a->remote, a->remote_port);
}

static int *hint_for(const struct http *h, uint64_t key) {
  return &h->connections[key % h->connections_size].hint;
}

static int find_used(const struct http *h, uint64_t key) {
  int fd = *hint_for(h, key);
  if (h->connections[fd].key == key) return fd;
  for (fd = (int)h->connections_size - 1; fd >= 0 && h->connections[fd].key != key;) fd--;
  return fd;
}

static int find_new(const struct http *h, const struct addresses *a) {
  int fd = (int)h->connections_size - 1;
  while (fd >= 0 && !(h->connections[fd].owned && !h->connections[fd].key && connects(fd, a))) fd--;
  return fd;
}

static bool quiet(const struct easy *c, int fd) {
  return !idle_too_long(find(c->http, fd), c->transfer) && socket_quiet(fd) && tls_quiet(c);
}

/* On a new connection TLS session tickets may wait, which are no reply. A connection that cannot be
 * recognised counts as used. */
bool connection_usable(struct easy *c, const struct addresses *a) {
  struct http *h = c->http;
  if (!h->connections_size) return c->transfer->fresh;
  bool streams = connection_shared(c);
  uint64_t key = key_of(a);
  int fd = find_used(h, key);
  if (fd >= 0 && !c->transfer->fresh && !streams && !quiet(c, fd)) return false;
  if (fd < 0) fd = find_new(h, a);
  if (fd < 0) return c->transfer->fresh || streams;
  h->connections[fd].key = key;
  h->connections[fd].streams = streams;
  c->transfer->fd = streams ? fd : 0;
  h->connections[fd].idle_since = poller_now();
  *hint_for(h, key) = fd;
  return true;
}

void connection_abandon_all(struct http *h) {
  for (size_t fd = 0; fd < h->connections_size; fd++)
    if (h->connections[fd].owned) close((int)fd);
}
