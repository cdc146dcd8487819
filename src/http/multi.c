#include "http/connection.h"
#include "http/easy.h"
#include "http/streams.h"

#include "base/sigpipe.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { OLDEST_LIBCURL = 0x075000 /* 7.80: CURLOPT_PREREQFUNCTION */ };
enum { MOST_STREAMS = 128, USUAL_STREAMS = 96, FEW_CONNECTIONS = 2, FEWEST_KEPT = 128 };

static int on_timer(CURLM *multi, long milliseconds, void *user) {
  (void)multi;
  struct pool *pool = user;
  pool->timer_at = milliseconds > 0 ? poller_now() + (double)milliseconds / 1000 : (double)milliseconds;
  return 0;
}

/* ---- which pool ---- */

static bool set_pool(struct pool *p, bool streams) {
  CURLM *m = p->multi;
  return curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, connection_watch) == CURLM_OK &&
         curl_multi_setopt(m, CURLMOPT_SOCKETDATA, p) == CURLM_OK &&
         curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
         curl_multi_setopt(m, CURLMOPT_TIMERDATA, p) == CURLM_OK &&
         curl_multi_setopt(m, CURLMOPT_MAX_CONCURRENT_STREAMS, MOST_STREAMS) == CURLM_OK &&
         curl_multi_setopt(m, CURLMOPT_PIPELINING,
                           streams ? (long)CURLPIPE_MULTIPLEX : (long)CURLPIPE_NOTHING) == CURLM_OK;
}

/* As many connections as half of the common limit of streams needs, and a few more. Without a limit libcurl
 * opens a connection for each request that finds the others full. */
static bool allow_connections(struct pool *p) {
  long most = FEW_CONNECTIONS + p->in_flight / USUAL_STREAMS;
  if (most <= p->connections) return true;
  p->connections = most;
  return curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, most) == CURLM_OK;
}

/* By default libcurl keeps four connections for each running request, and closes others when a request ends.
 * After many replies at once few requests run, and the next ones would need new connections. */
static bool keep_connections(struct pool *p) {
  if (p->in_flight < p->kept / 2) return true;
  p->kept = p->in_flight < FEWEST_KEPT / 2 ? FEWEST_KEPT : 2 * p->in_flight + 2;
  return curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, p->kept) == CURLM_OK;
}

static bool ready(struct pool *p, bool streams) {
  return streams ? allow_connections(p) : keep_connections(p);
}

static bool open_pool(struct http *h, struct pool *p) {
  bool streams = p == &h->pools[POOL_STREAMS];
  if (p->multi) return ready(p, streams);
  *p = (struct pool){.multi = curl_multi_init(), .http = h, .timer_at = -1};
  if (p->multi && set_pool(p, streams)) return ready(p, streams);
  if (p->multi) curl_multi_cleanup(p->multi);
  p->multi = NULL;
  return false;
}

/* Connections outlive their requests: what one of them may do stays possible. A proxy may be spoken to over
 * TLS, and the thread that asks for its address inherits the signal mask of its creation. */
static bool may_use_tls(const struct http_request *r) {
  return r->proxy || r->environment_proxy || !text_starts(r->url, strlen(r->url), "http://");
}

static bool start(struct http *h, struct http_transfer *t, const struct http_request *r) {
  struct pool *pool = streams_pool_for(h, t, r);
  h->tls |= may_use_tls(r);
  if (!open_pool(h, pool)) return false;
  struct easy *c = easy_take(h);
  if (!c) return false;
  c->error[0] = '\0';
  c->transfer = t;
  t->easy = c;
  if (easy_set_request(c, pool, t, r) && curl_multi_add_handle(c->pool->multi, c->curl) == CURLM_OK)
    return true;
  pool->in_flight--;
  easy_free(c);
  return false;
}

struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e) {
  struct http_transfer *t = transfer_new(r, h->gzip, e);
  if (!t) return NULL;
  if (!start(h, t, r)) {
    transfer_free(t);
    err_out_of_memory(e);
    return NULL;
  }
  transfer_move(&h->running, t);
  h->in_flight++;
  return t;
}

static void detach(struct http_transfer *t, bool clean) {
  struct easy *c = t->easy;
  t->easy = NULL;
  c->pool->in_flight--;
  curl_multi_remove_handle(c->pool->multi, c->curl);
  easy_release(c, clean);
  buf_free(&t->copy);
}

static void finish(struct http *h, struct http_transfer *t, CURLcode code) {
  struct http_response *r = &t->response;
  r->seconds = poller_now() - t->started;
  failure_explain(t, code);
  detach(t, code == CURLE_OK);
  transfer_move(&h->done, t);
}

static bool start_again(struct easy *c, struct pool *pool) {
  curl_multi_remove_handle(c->pool->multi, c->curl);
  return easy_set_again(c, pool) && curl_multi_add_handle(pool->multi, c->curl) == CURLM_OK;
}

/* Nothing was written: the same request, on a connection of its own. What HTTP/2 has lost goes the other
 * way. */
static bool again(struct http *h, struct easy *c, CURLcode code) {
  if (c->transfer->stale) return start_again(c, c->pool);
  return streams_lost(c->transfer, code) && start_again(c, &h->pools[POOL_SINGLE]);
}

static void drain_pool(struct http *h, const struct pool *pool) {
  int left;
  for (CURLMsg *m; (m = curl_multi_info_read(pool->multi, &left));) {
    struct easy *c = NULL;
    if (m->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
    if (again(h, c, m->data.result)) continue;
    finish(h, c->transfer, m->data.result);
  }
}

/* Those that wait for a place among the few connections of a server that turned out to need many. */
static void leave_streams(struct http *h) {
  h->refused = false;
  for (struct http_transfer *t = h->running.first, *next; t; t = next) {
    next = t->next;
    if (t->easy->pool != &h->pools[POOL_STREAMS] || t->response.sent || !streams_refuses(h, t->origin))
      continue;
    if (!start_again(t->easy, &h->pools[POOL_SINGLE])) finish(h, t, CURLE_OUT_OF_MEMORY);
  }
}

static void drain(struct http *h) {
  for (struct pool *p = h->pools; p < h->pools + POOL_KINDS; p++)
    if (p->multi) drain_pool(h, p);
}

/* ---- the loop's side ---- */

/* An error is reported as readable and writable: libcurl then reads the reason from the socket. */
static void feed(struct http *h, const struct poller_event *event) {
  int bits = 0, running;
  struct pool *pool = connection_ready(h, event->fd);
  if (!pool) return;
  if (event->events & (POLLER_READ | POLLER_ERROR)) bits |= CURL_CSELECT_IN;
  if (event->events & (POLLER_WRITE | POLLER_ERROR)) bits |= CURL_CSELECT_OUT;
  curl_multi_socket_action(pool->multi, event->fd, bits, &running);
}

/* Of headers that came by HTTP/2 libcurl 7.88 hands out what fits its buffer, and does not say that it has
 * more. */
static void read_on(struct http *h) {
  int running;
  while (h->headers_at) {
    int fd = h->headers_at;
    h->headers_at = 0;
    curl_multi_socket_action(h->pools[POOL_STREAMS].multi, fd, CURL_CSELECT_IN, &running);
  }
}

static bool timer_due(const struct pool *p) {
  return p->timer_at == 0 || (p->timer_at > 0 && p->timer_at <= poller_now());
}

static void serve_timers(struct http *h) {
  int running;
  for (struct pool *p = h->pools; p < h->pools + POOL_KINDS; p++) {
    if (!p->multi || !timer_due(p)) continue;
    p->timer_at = -1;
    curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    drain_pool(h, p);
  }
}

static double earlier(double a, double b) {
  return a < 0 || (b >= 0 && b < a) ? b : a;
}

static double timer_at(const struct http *h) {
  return earlier(h->pools[POOL_SINGLE].timer_at, h->pools[POOL_STREAMS].timer_at);
}

static int run(struct http *h, struct poller_event *events, int capacity, double seconds) {
  int others = 0;
  serve_timers(h);
  if (h->headers_at) {
    read_on(h);
    drain(h);
  }
  int count = poller_wait(h->poller, events, capacity, earlier(seconds, http_timeout(h)));
  for (int i = 0; i < count; i++) {
    if (events[i].tag == HTTP_TAG) feed(h, &events[i]);
    if (events[i].tag != HTTP_TAG) events[others++] = events[i];
  }
  read_on(h);
  drain(h);
  serve_timers(h);
  read_on(h);
  if (h->refused) leave_streams(h);
  return others;
}

/* SIGPIPE is blocked once for all of it, the wait included: that costs three system calls. libcurl itself
 * raises none, TLS libraries may. */
int http_run(struct http *h, struct poller_event *events, int capacity, double seconds) {
  struct sigpipe held;
  if (h->in_flight == 0) easy_trim_idle(h, h->idle_count);
  if (!h->tls || (!h->running.first && timer_at(h) < 0)) return run(h, events, capacity, seconds);
  sigpipe_hold(&held);
  int others = run(h, events, capacity, seconds);
  sigpipe_release(&held);
  return others;
}

double http_timeout(const struct http *h) {
  double at = timer_at(h);
  if (h->done.first || at == 0) return 0;
  return at < 0 ? -1 : fmax(at - poller_now(), 0);
}

bool http_finished(const struct http *h) {
  return h->done.first;
}

struct http_transfer *http_take(struct http *h) {
  struct http_transfer *t = h->done.first;
  if (!t) return NULL;
  transfer_move(&h->taken, t);
  h->in_flight--;
  return t;
}

int http_in_flight(const struct http *h) {
  return h->in_flight;
}

void http_cancel(struct http *h, struct http_transfer *t) {
  struct sigpipe held;
  if (!t->easy) return;
  t->stopped = HTTP_CANCELLED;
  sigpipe_hold(&held);
  finish(h, t, CURLE_ABORTED_BY_CALLBACK);
  sigpipe_release(&held);
}

void http_drop(struct http *h, struct http_transfer *t) {
  http_cancel(h, t);
  if (t->list != &h->taken) h->in_flight--;
  transfer_free(t);
}

/* ---- opening and closing ---- */

static CURLcode global_code;

/* Never undone: the host or another copy of this module may use libcurl, too. */
static void global_init(void) {
  global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool library_usable(struct err *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, global_init);
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  if (global_code != CURLE_OK) return err_set(e, KIND_service, "libcurl could not be initialised");
  if (info->version_num >= OLDEST_LIBCURL) return true;
  return err_set(e, KIND_unsupported, "libcurl %s is too old; 7.80 or newer is needed", info->version);
}

const char *http_version(void) {
  return curl_version_info(CURLVERSION_NOW)->version;
}

const char *http_tls_version(void) {
  return curl_version_info(CURLVERSION_NOW)->ssl_version;
}

/* Used by one thread only, as all of it: no locks. Without TLS there is nothing to share. */
static bool open_share(struct http *h) {
  h->share = curl_share_init();
  if (!h->share) return false;
  CURLSHcode code = curl_share_setopt(h->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return code == CURLSHE_OK || code == CURLSHE_NOT_BUILT_IN;
}

bool http_open(struct http **out, struct poller *p, struct err *e) {
  *out = NULL;
  if (!library_usable(e)) return false;
  struct http *h = calloc(1, sizeof *h);
  if (!h) return err_out_of_memory(e);
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  h->ca_file = info->cainfo;
  h->ca_path = info->capath;
  h->gzip = info->features & CURL_VERSION_LIBZ;
  h->poller = p;
  connection_find_tls(h);
  h->pools[POOL_STREAMS].timer_at = -1; /* opened when it is first needed */
  if (!open_share(h) || !open_pool(h, &h->pools[POOL_SINGLE])) {
    http_close(h);
    return err_out_of_memory(e);
  }
  *out = h;
  return true;
}

static void end_all(struct http *h, struct transfer_list *list) {
  while (list->first) http_drop(h, list->first);
}

/* After a fork libcurl is not cleaned up: it could wait for ever for the resolver's thread, which does not
 * exist in the child, and its TLS shutdown would end the parent's connections. The memory is freed when the
 * process ends. */
static void abandon(struct http *h) {
  connection_abandon_all(h);
  for (struct http_transfer *t = h->running.first; t; t = t->next) t->easy = NULL;
  end_all(h, &h->running);
}

static void release(struct http *h) {
  struct sigpipe held;
  end_all(h, &h->running);
  sigpipe_hold(&held);
  while (h->idle) easy_free(easy_take(h));
  for (struct pool *p = h->pools; p < h->pools + POOL_KINDS; p++)
    if (p->multi) curl_multi_cleanup(p->multi);
  if (h->share) curl_share_cleanup(h->share);
  sigpipe_release(&held);
}

void http_close(struct http *h) {
  if (poller_forked(h->poller))
    abandon(h);
  else
    release(h);
  end_all(h, &h->done);
  end_all(h, &h->taken);
  free(h->connections);
  free(h);
}
