#include "http/connection.h"
#include "http/easy.h"
#include "http/streams.h"

#include <math.h>
#include <stdlib.h>

enum {
  MOST_IDLE = 64,
  IDLE_SECONDS = 50,  /* common load balancers close idle connections after 60: reuse must come before */
  LIFE_SECONDS = 600, /* a connection that is always busy would pin the address of a moved server */
  ADDRESS_SECONDS = 60,
  LOOK_SECONDS = 10
};

/* libcurl asks here before each try, after connecting and before it writes any byte of the request. A
 * second try follows a connection that died without a reply, after the first one may have been carried out.
 */
static int on_request(void *user, char *remote, char *local, int remote_port, int local_port) {
  struct easy *c = user;
  struct http_transfer *t = c->transfer;
  struct addresses ends = {local, remote, local_port, remote_port};
  if (t->response.sent && !t->method->safe) {
    t->stopped = HTTP_EMPTY;
    return CURL_PREREQFUNC_ABORT;
  }
  t->stale = !connection_usable(c, &ends);
  if (t->stale) return CURL_PREREQFUNC_ABORT;
  if (c->pool == &c->http->pools[POOL_STREAMS] && !connection_shared(c)) streams_refused(c->http, t);
  t->response.sent = true;
  return CURL_PREREQFUNC_OK;
}

void easy_free(struct easy *c) {
  if (c->curl) curl_easy_cleanup(c->curl);
  curl_url_cleanup(c->address);
  free(c);
}

static const struct setting {
  CURLoption option;
  long value;
  bool optional; /* unknown to older libraries, which do as well without it */
} settings[] = {
    {CURLOPT_NOSIGNAL, 1, false},
    {CURLOPT_FOLLOWLOCATION, 0, false},
    {CURLOPT_SSL_VERIFYPEER, 1, false},
    {CURLOPT_SSL_VERIFYHOST, 2, false},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2, false},
    {CURLOPT_DISALLOW_USERNAME_IN_URL, 1, false},
    {CURLOPT_PATH_AS_IS, 1, false}, /* ".." in an argument must not become another path */
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1, false},
    {CURLOPT_MAXAGE_CONN, IDLE_SECONDS, false},
    {CURLOPT_MAXLIFETIME_CONN, LIFE_SECONDS, false},
    {CURLOPT_UPLOAD_BUFFERSIZE, 16384, false}, /* 64 KiB for each request over TLS otherwise */
#if LIBCURL_VERSION_NUM >= 0x075700
    {CURLOPT_QUICK_EXIT, 1, true}, /* no deadline, no close waits for a silent name server */
#endif
};

static bool set_fixed(struct easy *c) {
  bool ok = true;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    CURLcode code = curl_easy_setopt(c->curl, settings[i].option, settings[i].value);
    ok &= code == CURLE_OK || (code == CURLE_UNKNOWN_OPTION && settings[i].optional);
  }
#if LIBCURL_VERSION_NUM >= 0x075500
  ok &= curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
#else
  ok &= curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS) == CURLE_OK;
#endif
  if (c->http->gzip) /* decodes gzip; the request's own header asks for it */
    ok &= curl_easy_setopt(c->curl, CURLOPT_ACCEPT_ENCODING, "gzip") == CURLE_OK;
  if (c->http->share) ok &= curl_easy_setopt(c->curl, CURLOPT_SHARE, c->http->share) == CURLE_OK;
  return ok;
}

static void set_callbacks(struct easy *c) {
  curl_easy_setopt(c->curl, CURLOPT_PRIVATE, c);
  curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->error);
  curl_easy_setopt(c->curl, CURLOPT_OPENSOCKETFUNCTION, connection_open);
  curl_easy_setopt(c->curl, CURLOPT_OPENSOCKETDATA, c);
  curl_easy_setopt(c->curl, CURLOPT_CLOSESOCKETFUNCTION, connection_close);
  curl_easy_setopt(c->curl, CURLOPT_CLOSESOCKETDATA, c->http); /* a connection outlives its first request */
  curl_easy_setopt(c->curl, CURLOPT_PREREQFUNCTION, on_request);
  curl_easy_setopt(c->curl, CURLOPT_PREREQDATA, c);
  curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, receive_header);
  curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, c);
  curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, receive_body);
  curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
}

static struct easy *easy_new(struct http *h) {
  struct easy *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->http = h;
  c->looks = true; /* the default of libcurl */
  c->curl = curl_easy_init();
  if (!c->curl || !set_fixed(c)) {
    easy_free(c);
    return NULL;
  }
  set_callbacks(c);
  return c;
}

struct easy *easy_take(struct http *h) {
  struct easy *c = h->idle;
  if (!c) return easy_new(h);
  h->idle = c->next;
  h->idle_count--;
  return c;
}

static void drop_idle(struct http *h) {
  struct easy *c = easy_take(h);
  easy_free(c);
}

/* Keeps as many idle handles as requests are in flight, and a few: a burst finds its handles, a loop without
 * requests holds little. Not when they are taken: a burst is often followed by another one. */
void easy_trim_idle(struct http *h, int most) {
  for (int i = 0; i < most && h->idle_count > MOST_IDLE && h->idle_count > h->in_flight; i++) drop_idle(h);
}

static bool set_fresh(struct easy *c, long wanted) {
  return curl_easy_setopt(c->curl, CURLOPT_FRESH_CONNECT, wanted) == CURLE_OK;
}

/* After a failure the handle is not used again: nothing of it can reach the next request. */
void easy_release(struct easy *c, bool clean) {
  struct http *h = c->http;
  if (!clean) {
    easy_free(c);
    return;
  }
  if (!c->plain_method) curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, NULL);
  curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, NULL); /* both point into the transfer */
  if (c->transfer->fresh) set_fresh(c, 0);
  c->transfer = NULL;
  c->next = h->idle;
  h->idle = c;
  h->idle_count++;
  easy_trim_idle(h, 2);
}

static long as_milliseconds(double seconds) {
  return (long)fmin(fmax(ceil(seconds * 1000), 1), 2e9);
}

#define SET(option, value) (curl_easy_setopt(curl, option, value) == CURLE_OK)

static bool set_method(struct easy *c, const struct http_transfer *t, const struct http_request *r) {
  CURL *curl = c->curl;
  bool plain = t->method->safe && !transfer_has_body(t);
  if (plain && c->plain_method) return true;
  c->plain_method = plain;
  const unsigned char *body = t->copy.data + t->copy.size - r->body.size; /* it comes last */
  const char *name = t->method->safe || t->method->body ? NULL : t->method->name;
  if (!SET(CURLOPT_CUSTOMREQUEST, name)) return false;
  if (!transfer_has_body(t)) return SET(CURLOPT_HTTPGET, 1L);
  return SET(CURLOPT_POST, 1L) && SET(CURLOPT_POSTFIELDS, body) &&
         SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
}

/* Sets the transport of a handle only when it differs from that of its last request. A Unix socket has no
 * addresses by which libcurl could recognise its connection: each request has a connection of its own.
 */
static bool set_route(const struct http *h, struct easy *c, const struct http_request *r) {
  CURL *curl = c->curl;
  bool plain = !r->proxy && !r->environment_proxy && !r->unix_path && !r->ca_file;
  const char *no_proxy = r->environment_proxy ? NULL : "", *ca_file = r->ca_file ? r->ca_file : h->ca_file;
  if (plain && c->plain_route) return true;
  c->plain_route = plain;
  return SET(CURLOPT_PROXY, r->proxy ? r->proxy : no_proxy) && SET(CURLOPT_NOPROXY, no_proxy) &&
         SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_path) && SET(CURLOPT_FORBID_REUSE, r->unix_path ? 1L : 0L) &&
         SET(CURLOPT_CAINFO, ca_file) && (!h->ca_path || SET(CURLOPT_CAPATH, ca_file ? NULL : h->ca_path));
}

/* Without the wait each of many first requests would open a connection of its own before it is known that one
 * carries all. */
static bool set_pool(struct easy *c, struct pool *pool) {
  CURL *curl = c->curl;
  bool streams = pool == &c->http->pools[POOL_STREAMS];
  if (c->set_for == pool) return true;
  c->set_for = pool;
  return SET(CURLOPT_HTTP_VERSION, streams ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1) &&
         SET(CURLOPT_PIPEWAIT, streams ? 1L : 0L);
}

static bool set_times(struct easy *c, double timeout, double connect_timeout) {
  CURL *curl = c->curl;
  bool sooner = connect_timeout > 0 && connect_timeout < timeout;
  long whole = as_milliseconds(timeout), connect = sooner ? as_milliseconds(connect_timeout) : 0;
  if (whole == c->timeout && connect == c->connect_timeout) return true;
  c->timeout = whole;
  c->connect_timeout = connect;
  return SET(CURLOPT_TIMEOUT_MS, whole) && SET(CURLOPT_CONNECTTIMEOUT_MS, connect);
}

/* Behind each request libcurl would look through all addresses that it remembers for those that are too old:
 * once in a while is enough. A request that does not look takes them as they are. */
static bool set_look(struct easy *c, struct pool *pool, double now) {
  CURL *curl = c->curl;
  bool look = pool->looked_at <= 0 || now - pool->looked_at > LOOK_SECONDS;
  if (look) pool->looked_at = now;
  if (look == c->looks) return true;
  c->looks = look;
  return SET(CURLOPT_DNS_CACHE_TIMEOUT, look ? (long)ADDRESS_SECONDS : -1L);
}

bool easy_set_request(struct easy *c, struct pool *pool, struct http_transfer *t,
                      const struct http_request *r) {
  CURL *curl = c->curl;
  c->pool = pool;
  pool->in_flight++;
  t->fresh = r->unix_path;
  return set_pool(c, pool) && easy_set_address(c, r->url) &&
         SET(CURLOPT_HTTPHEADER, t->has_lines ? &t->lines[0] : NULL) && set_method(c, t, r) &&
         set_times(c, r->timeout, r->connect_timeout) && set_look(c, pool, t->started) &&
         set_route(c->http, c, r);
}

bool easy_set_again(struct easy *c, struct pool *pool) {
  CURL *curl = c->curl;
  struct http_transfer *t = c->transfer;
  t->stale = false;
  t->fd = 0;
  t->fresh = c->pool == pool;
  c->pool->in_flight--;
  c->pool = pool;
  pool->in_flight++;
  c->error[0] = '\0';
  c->timeout = as_milliseconds(t->timeout - (poller_now() - t->started));
  return set_pool(c, pool) && set_fresh(c, t->fresh) && SET(CURLOPT_TIMEOUT_MS, c->timeout);
}
