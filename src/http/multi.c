#include "http/connection.h"

#include "base/sigpipe.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { OLDEST_LIBCURL = 0x075000 /* 7.80: CURLOPT_PREREQFUNCTION */ };

static int on_timer(CURLM *multi, long milliseconds, void *user) {
  (void)multi;
  struct http *h = user;
  h->timer_at = milliseconds > 0 ? poller_now() + (double)milliseconds / 1000 : (double)milliseconds;
  return 0;
}

static bool start(struct http *h, struct http_transfer *t, const struct http_request *r) {
  struct easy *c = easy_take(h);
  if (!c) return false;
  c->error[0] = '\0';
  c->transfer = t;
  t->easy = c;
  if (easy_set_request(c, t, r) && curl_multi_add_handle(h->multi, c->curl) == CURLM_OK) return true;
  easy_free(c);
  return false;
}

struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e) {
  struct http_transfer *t = transfer_new(r, e);
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

static void detach(struct http *h, struct http_transfer *t, bool clean) {
  struct easy *c = t->easy;
  t->easy = NULL;
  curl_multi_remove_handle(h->multi, c->curl);
  easy_release(c, clean);
  buf_free(&t->copy);
}

static void finish(struct http *h, struct http_transfer *t, CURLcode code) {
  struct http_response *r = &t->response;
  r->seconds = poller_now() - t->started;
  failure_explain(t, code);
  detach(h, t, code == CURLE_OK);
  transfer_move(&h->done, t);
}

/* Nothing was written: the same request, on a connection of its own. */
static bool start_again(struct http *h, struct easy *c) {
  curl_multi_remove_handle(h->multi, c->curl);
  return easy_set_fresh(c) && curl_multi_add_handle(h->multi, c->curl) == CURLM_OK;
}

static void drain(struct http *h) {
  int left;
  for (CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
    struct easy *c = NULL;
    if (m->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
    if (c->transfer->stale && start_again(h, c)) continue;
    finish(h, c->transfer, m->data.result);
  }
}

/* ---- the loop's side ---- */

/* An error is told as both readiness: libcurl then asks the socket and gets the true reason. */
static void feed(struct http *h, const struct poller_event *event) {
  int bits = 0, running;
  if (!connection_ready(h, event->fd)) return;
  if (event->events & (POLLER_READ | POLLER_ERROR)) bits |= CURL_CSELECT_IN;
  if (event->events & (POLLER_WRITE | POLLER_ERROR)) bits |= CURL_CSELECT_OUT;
  curl_multi_socket_action(h->multi, event->fd, bits, &running);
}

static bool timer_due(const struct http *h) {
  return h->timer_at == 0 || (h->timer_at > 0 && h->timer_at <= poller_now());
}

static void serve_timer(struct http *h) {
  int running;
  if (!timer_due(h)) return;
  h->timer_at = -1;
  curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  drain(h);
}

static double earlier(double a, double b) {
  return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int run(struct http *h, struct poller_event *events, int capacity, double seconds) {
  int others = 0;
  serve_timer(h);
  int count = poller_wait(h->poller, events, capacity, earlier(seconds, http_timeout(h)));
  for (int i = 0; i < count; i++) {
    if (events[i].tag == HTTP_TAG) feed(h, &events[i]);
    if (events[i].tag != HTTP_TAG) events[others++] = events[i];
  }
  drain(h);
  serve_timer(h);
  return others;
}

/* SIGPIPE is held once for all of it, the wait included: that costs three system calls. */
int http_run(struct http *h, struct poller_event *events, int capacity, double seconds) {
  struct sigpipe held;
  if (h->in_flight == 0) easy_trim_spares(h, h->spares);
  if (!h->running.first && h->timer_at < 0) return run(h, events, capacity, seconds);
  sigpipe_hold(&held);
  int others = run(h, events, capacity, seconds);
  sigpipe_release(&held);
  return others;
}

double http_timeout(const struct http *h) {
  if (h->done.first || h->timer_at == 0) return 0;
  return h->timer_at < 0 ? -1 : fmax(h->timer_at - poller_now(), 0);
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

static bool set_multi(struct http *h) {
  return curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, connection_watch) == CURLM_OK &&
         curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h) == CURLM_OK &&
         curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
         curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h) == CURLM_OK &&
         curl_multi_setopt(h->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) == CURLM_OK;
}

bool http_open(struct http **out, struct poller *p, struct err *e) {
  *out = NULL;
  if (!library_usable(e)) return false;
  struct http *h = calloc(1, sizeof *h);
  if (!h) return err_out_of_memory(e);
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  h->ca_file = info->cainfo;
  h->ca_path = info->capath;
  h->poller = p;
  connection_find_tls(h);
  h->timer_at = -1;
  h->multi = curl_multi_init();
  if (!h->multi || !set_multi(h)) {
    http_close(h);
    return err_out_of_memory(e);
  }
  *out = h;
  return true;
}

static void end_all(struct http *h, struct transfer_list *list) {
  while (list->first) http_drop(h, list->first);
}

/* After a fork: the name server's thread does not exist here, so that libcurl could wait for it for ever; and
 * a farewell on a TLS connection would end it for the parent. Its memory goes when the process ends. */
static void abandon(struct http *h) {
  connection_abandon_all(h);
  for (struct http_transfer *t = h->running.first; t; t = t->next) t->easy = NULL;
  end_all(h, &h->running);
}

static void release(struct http *h) {
  struct sigpipe held;
  end_all(h, &h->running);
  sigpipe_hold(&held);
  while (h->spare) easy_free(easy_take(h));
  if (h->multi) curl_multi_cleanup(h->multi);
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
