#include "http/http.h"

#include "base/sigpipe.h"

#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  OLDEST_LIBCURL = 0x075000, /* 7.80: CURLOPT_PREREQFUNCTION */
  HEADER_LIMIT = 64 * 1024,
  USUAL_HEADERS = 512,
  SPARE_CARRIERS = 16,
  IDLE_SECONDS = 50, /* common load balancers close idle connections after 60: reuse must come before */
  LIFE_SECONDS = 600 /* a connection that is always busy would pin the address of a moved server */
};

/* ---- what one request holds ---- */

struct list {
  struct http_transfer *first, *last;
};

struct method {
  const char *name;
  bool safe; /* changes nothing: libcurl may send it again */
  bool body; /* has one, if only of length 0 */
};

static const struct method methods[] = {
    {"GET", true, false}, {"POST", false, true}, {"DELETE", false, false}};

struct http_transfer {
  struct http_response response;
  struct list *list; /* running, done or taken */
  struct http_transfer *next, *previous;
  struct carrier *carrier; /* while it runs */
  void *user;
  const struct method *method;
  size_t max_response, header_bytes;
  int sink;
  double started, timeout;
  bool has_lines, headers_done;
  enum http_failure stopped; /* why a callback of ours ended it; HTTP_OK: none did */
  struct buf copy;           /* header lines and body; may hold a token, a PIN */
  struct curl_slist lines[]; /* point into copy */
};

/* An easy handle is made once and used for many requests: making one costs a tenth of a request. */
struct carrier {
  CURL *easy;
  struct http *http;
  struct http_transfer *transfer;
  struct carrier *next;
  bool usual; /* it is set for requests without proxy, socket path and CA file */
  char error[CURL_ERROR_SIZE];
};

struct http {
  CURLM *multi;
  struct poller *poller;
  struct list running, done, taken;
  struct carrier *spare;
  int spares, in_flight;
  double timer_at;        /* poller_now() seconds, 0: at once, negative: never */
  unsigned char *watched; /* by descriptor: what the poller watches, OWNED, IDLE */
  size_t watched_size;
  const char *ca_file, *ca_path; /* libcurl's own; static text */
};

/* Watching a connection for each request anew would cost two system calls: libcurl's last wish to read stays
 * with the poller while the connection is idle. Only sockets that we open and close ourselves: others may
 * vanish unseen. */
enum { OWNED = 8, IDLE = 16 };

/* ---- lists ---- */

static void leave(struct http_transfer *t) {
  struct list *list = t->list;
  *(t->previous ? &t->previous->next : &list->first) = t->next;
  *(t->next ? &t->next->previous : &list->last) = t->previous;
}

static void enter(struct list *list, struct http_transfer *t) {
  if (t->list) leave(t);
  t->list = list;
  t->next = NULL;
  t->previous = list->last;
  *(list->last ? &list->last->next : &list->first) = t;
  list->last = t;
}

/* ---- sockets and the timer, called by libcurl ---- */

static bool know(struct http *h, int fd) {
  size_t need = (size_t)fd + 1;
  if (need <= h->watched_size) return true;
  size_t size = need + need / 2 + 64;
  unsigned char *grown = realloc(h->watched, size);
  if (!grown) return false;
  memset(grown + h->watched_size, 0, size - h->watched_size);
  h->watched = grown;
  h->watched_size = size;
  return true;
}

static void watch(struct http *h, int fd, unsigned events) {
  unsigned char *state = &h->watched[fd];
  bool done = poller_watch(h->poller, fd, events, HTTP_TAG, NULL);
  *state = (unsigned char)((*state & OWNED) | (done ? events : 0));
}

static curl_socket_t on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  struct carrier *c = user;
  int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
    c->transfer->stopped = HTTP_LOCAL;
  if (fd < 0) return CURL_SOCKET_BAD;
  if (!know(c->http, fd)) {
    close(fd);
    return CURL_SOCKET_BAD;
  }
  c->http->watched[fd] = OWNED;
  return fd;
}

static int on_close(void *user, curl_socket_t fd) {
  struct http *h = user;
  if ((size_t)fd < h->watched_size) {
    if (h->watched[fd] & (POLLER_READ | POLLER_WRITE)) watch(h, fd, 0);
    h->watched[fd] = 0;
  }
  return close(fd);
}

/* A socket that cannot be watched is no error: its transfer ends at its deadline. An error would end them
 * all. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *unused) {
  (void)easy, (void)unused;
  struct http *h = user;
  if (!know(h, fd)) return 0;
  unsigned char *state = &h->watched[fd];
  unsigned watched = *state & (POLLER_READ | POLLER_WRITE), wanted = 0;
  if (what != CURL_POLL_REMOVE) {
    if (what & CURL_POLL_IN) wanted |= POLLER_READ;
    if (what & CURL_POLL_OUT) wanted |= POLLER_WRITE;
  }
  *state = (unsigned char)(*state & ~IDLE);
  if (wanted == 0 && (*state & OWNED) && watched == POLLER_READ)
    *state |= IDLE;
  else if (wanted != watched)
    watch(h, fd, wanted);
  return 0;
}

static int on_timer(CURLM *multi, long milliseconds, void *user) {
  (void)multi;
  struct http *h = user;
  h->timer_at = milliseconds > 0 ? poller_now() + (double)milliseconds / 1000 : (double)milliseconds;
  return 0;
}

/* ---- one request's callbacks ---- */

/* libcurl asks here before each try, when the connection stands and nothing of this try has been written. A
 * second try follows a connection that died without a reply, after the first one may have been carried out.
 */
static int on_request(void *user, char *remote, char *local, int remote_port, int local_port) {
  (void)remote, (void)local, (void)remote_port, (void)local_port;
  struct http_transfer *t = ((struct carrier *)user)->transfer;
  if (t->response.sent && !t->method->safe) {
    t->stopped = HTTP_EMPTY;
    return CURL_PREREQFUNC_ABORT;
  }
  t->response.sent = true;
  return CURL_PREREQFUNC_OK;
}

static size_t stop(struct http_transfer *t, enum http_failure why) {
  t->stopped = why;
  return 0;
}

static bool has_prefix(const char *line, size_t size, const char *prefix) {
  size_t length = strlen(prefix);
  return size >= length && strncasecmp(line, prefix, length) == 0;
}

/* "HTTP/1.1 200 OK" */
static int status_of(const char *line, size_t size) {
  const char *space = memchr(line, ' ', size);
  int status = 0;
  if (!space) return 0;
  for (const char *p = space + 1; p < line + size && *p >= '0' && *p <= '9' && status < 1000; p++)
    status = status * 10 + (*p - '0');
  return status;
}

static void add_header(struct buf *out, const char *line, size_t size) {
  const char *colon = memchr(line, ':', size), *end = line + size, *value = colon ? colon + 1 : end;
  if (!colon || *line == ' ' || *line == '\t') return; /* a folded line: RFC 9112 5.2 */
  while (value < end && (*value == ' ' || *value == '\t')) value++;
  while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
  size_t name = out->size;
  buf_add(out, line, (size_t)(colon - line));
  for (; name < out->size; name++)
    if (out->data[name] >= 'A' && out->data[name] <= 'Z')
      out->data[name] = (unsigned char)(out->data[name] + 32);
  buf_text_add(out, ": ");
  buf_add(out, value, (size_t)(end - value));
  buf_put(out, '\n');
}

static size_t on_header(char *line, size_t one, size_t length, void *user) {
  struct http_transfer *t = ((struct carrier *)user)->transfer;
  struct http_response *r = &t->response;
  size_t size = one * length;
  t->header_bytes += size;
  if (t->header_bytes > HEADER_LIMIT) return stop(t, HTTP_TOO_LARGE);
  if (t->headers_done) return size; /* trailers */
  size_t text = size;
  while (text && (line[text - 1] == '\n' || line[text - 1] == '\r')) text--;
  if (has_prefix(line, text, "HTTP/")) {
    buf_clear(&r->headers);
    buf_reserve(&r->headers, USUAL_HEADERS);
    r->status = status_of(line, text);
  } else if (text == 0) {
    t->headers_done = r->status >= 200; /* 1xx replies come before the true one */
  } else {
    add_header(&r->headers, line, text);
  }
  return buf_ok(&r->headers) ? size : stop(t, HTTP_LOCAL);
}

static bool write_all(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

static size_t on_body(char *data, size_t one, size_t length, void *user) {
  struct http_transfer *t = ((struct carrier *)user)->transfer;
  size_t size = one * length;
  if (size > t->max_response) return stop(t, HTTP_TOO_LARGE);
  t->max_response -= size;
  if (t->sink > 0 && t->response.status / 100 == 2)
    return write_all(t->sink, data, size) ? size : stop(t, HTTP_SINK);
  buf_add(&t->response.body, data, size);
  return buf_ok(&t->response.body) ? size : stop(t, HTTP_LOCAL);
}

/* ---- carriers ---- */

static void carrier_free(struct carrier *c) {
  if (c->easy) curl_easy_cleanup(c->easy);
  free(c);
}

static const struct setting {
  CURLoption option;
  long value;
  bool optional; /* unknown to older libraries, which do as well without it */
} settings[] = {
    {CURLOPT_NOSIGNAL, 1, false},
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1, false},
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

static bool set_fixed(struct carrier *c) {
  bool ok = true;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    CURLcode code = curl_easy_setopt(c->easy, settings[i].option, settings[i].value);
    ok &= code == CURLE_OK || (code == CURLE_UNKNOWN_OPTION && settings[i].optional);
  }
#if LIBCURL_VERSION_NUM >= 0x075500
  ok &= curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
#else
  ok &= curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS) == CURLE_OK;
#endif
  if (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_LIBZ)
    ok &= curl_easy_setopt(c->easy, CURLOPT_ACCEPT_ENCODING, "gzip") == CURLE_OK;
  return ok;
}

static void set_callbacks(struct carrier *c) {
  curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
  curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
  curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
  curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETDATA, c);
  curl_easy_setopt(c->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
  curl_easy_setopt(c->easy, CURLOPT_CLOSESOCKETDATA, c->http); /* a connection outlives its first request */
  curl_easy_setopt(c->easy, CURLOPT_PREREQFUNCTION, on_request);
  curl_easy_setopt(c->easy, CURLOPT_PREREQDATA, c);
  curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
  curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
}

static struct carrier *carrier_new(struct http *h) {
  struct carrier *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->http = h;
  c->easy = curl_easy_init();
  if (!c->easy || !set_fixed(c)) {
    carrier_free(c);
    return NULL;
  }
  set_callbacks(c);
  return c;
}

static struct carrier *carrier_take(struct http *h) {
  struct carrier *c = h->spare;
  if (!c) return carrier_new(h);
  h->spare = c->next;
  h->spares--;
  return c;
}

static void drop_spare(struct http *h) {
  struct carrier *c = carrier_take(h);
  carrier_free(c);
}

/* As many stay as are in flight, and a few: many requests at once find theirs, an idle loop holds little. Not
 * when they are taken: those that were waited for together are often followed by as many. */
static void trim_spares(struct http *h, int most) {
  for (int i = 0; i < most && h->spares > SPARE_CARRIERS && h->spares > h->in_flight; i++) drop_spare(h);
}

/* After a failure the handle is not used again: nothing of it can reach the next request. */
static void carrier_release(struct http *h, struct carrier *c, bool clean) {
  if (!clean) {
    carrier_free(c);
    return;
  }
  curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, NULL); /* both point into the transfer */
  curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
  c->transfer = NULL;
  c->next = h->spare;
  h->spare = c;
  h->spares++;
  trim_spares(h, 2);
}

/* ---- submitting ---- */

static const struct method *find_method(const char *name) {
  for (size_t i = 0; name && i < sizeof methods / sizeof *methods; i++)
    if (strcmp(methods[i].name, name) == 0) return &methods[i];
  return NULL;
}

static bool is_token(char c) { /* RFC 9110 5.6.2 */
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         strchr("!#$%&'*+-.^_`|~", c);
}

static bool header_valid(const char *line) {
  const char *p = line;
  while (*p && is_token(*p)) p++;
  if (p == line || *p != ':') return false;
  for (; *p; p++)
    if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7F) return false;
  return true;
}

static bool url_valid(const char *url) {
  if (!url || !(has_prefix(url, strlen(url), "http://") || has_prefix(url, strlen(url), "https://")))
    return false;
  for (const char *p = url; *p; p++)
    if (*p <= ' ' || *p == 0x7F) return false; /* also bytes above 0x7F: they must be percent-encoded */
  return true;
}

static bool request_valid(const struct http_request *r, const struct method *m, struct err *e) {
  if (!m) return err_set(e, KIND_invalid, "the request's method is not known");
  if (!url_valid(r->url))
    return err_set(e, KIND_invalid, "the request's address is not an http or https address");
  if (m->safe && r->body.data) return err_set(e, KIND_invalid, "a %s request takes no body", m->name);
  if (!(r->timeout > 0 && isfinite(r->timeout)))
    return err_set(e, KIND_invalid, "the request's time limit must be above zero");
  for (int i = 0; r->headers && r->headers[i]; i++) /* the line itself may hold a secret */
    if (!header_valid(r->headers[i]))
      return err_set(e, KIND_invalid, "header line %d is not \"Name: value\"", i + 1);
  return true;
}

static void copy_line(struct http_transfer *t, size_t *count, const char *line) {
  char *at = (char *)t->copy.data + t->copy.size;
  buf_add(&t->copy, line, strlen(line) + 1);
  t->lines[*count] = (struct curl_slist){at, NULL};
  if (*count) t->lines[*count - 1].next = &t->lines[*count];
  ++*count;
}

static bool posts(const struct http_transfer *t, const struct http_request *r) {
  return t->method->body || r->body.size > 0;
}

/* Room for all is taken at once, so that the lines stay where they are. With a body both extra lines switch
 * something of libcurl's off: a Content-Type of its own invention, and waiting for "100 Continue". */
static bool copy_request(struct http_transfer *t, const struct http_request *r) {
  static const char no_type[] = "Content-Type:", no_expect[] = "Expect:";
  size_t size = sizeof no_type + sizeof no_expect + r->body.size, count = 0;
  bool typed = false;
  for (int i = 0; r->headers && r->headers[i]; i++) size += strlen(r->headers[i]) + 1;
  if (!buf_reserve(&t->copy, size)) return false;
  for (int i = 0; r->headers && r->headers[i]; i++) {
    typed |= has_prefix(r->headers[i], strlen(r->headers[i]), no_type);
    copy_line(t, &count, r->headers[i]);
  }
  if (posts(t, r) && !typed) copy_line(t, &count, no_type);
  if (posts(t, r)) copy_line(t, &count, no_expect);
  buf_add(&t->copy, r->body.data, r->body.size);
  t->has_lines = count > 0;
  return true;
}

static struct http_transfer *transfer_new(const struct http_request *r, const struct method *m) {
  size_t lines = 2;
  for (int i = 0; r->headers && r->headers[i]; i++) lines++;
  struct http_transfer *t = calloc(1, sizeof *t + lines * sizeof *t->lines);
  if (!t) return NULL;
  t->method = m;
  t->max_response = r->max_response;
  t->sink = r->sink;
  t->timeout = r->timeout;
  t->started = poller_now();
  if (copy_request(t, r)) return t;
  free(t);
  return NULL;
}

static void transfer_free(struct http_transfer *t) {
  buf_free(&t->copy);
  buf_free(&t->response.headers);
  buf_free(&t->response.body);
  free(t);
}

static long as_milliseconds(double seconds) {
  return (long)fmin(fmax(ceil(seconds * 1000), 1), 2e9);
}

#define SET(option, value) (curl_easy_setopt(easy, option, value) == CURLE_OK)

static bool set_method(CURL *easy, const struct http_transfer *t, const struct http_request *r) {
  const unsigned char *body = t->copy.data + t->copy.size - r->body.size; /* it comes last */
  const char *name = t->method->safe || t->method->body ? NULL : t->method->name;
  if (!SET(CURLOPT_CUSTOMREQUEST, name)) return false;
  if (!posts(t, r)) return SET(CURLOPT_HTTPGET, 1L);
  return SET(CURLOPT_POST, 1L) && SET(CURLOPT_POSTFIELDS, body) &&
         SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
}

/* Most requests go one way; a carrier is told only when its last request or this one goes another. */
static bool set_way(const struct http *h, struct carrier *c, const struct http_request *r) {
  CURL *easy = c->easy;
  bool usual = !r->proxy && !r->environment_proxy && !r->unix_path && !r->ca_file;
  const char *no_proxy = r->environment_proxy ? NULL : "", *ca_file = r->ca_file ? r->ca_file : h->ca_file;
  if (usual && c->usual) return true;
  c->usual = usual;
  return SET(CURLOPT_PROXY, r->proxy ? r->proxy : no_proxy) && SET(CURLOPT_NOPROXY, no_proxy) &&
         SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_path) && SET(CURLOPT_CAINFO, ca_file) &&
         (!h->ca_path || SET(CURLOPT_CAPATH, ca_file ? NULL : h->ca_path));
}

static bool set_times(CURL *easy, const struct http_request *r) {
  bool sooner = r->connect_timeout > 0 && r->connect_timeout < r->timeout;
  return SET(CURLOPT_TIMEOUT_MS, as_milliseconds(r->timeout)) &&
         SET(CURLOPT_CONNECTTIMEOUT_MS, sooner ? as_milliseconds(r->connect_timeout) : 0L);
}

static bool set_request(const struct http *h, struct carrier *c, struct http_transfer *t,
                        const struct http_request *r) {
  CURL *easy = c->easy;
  return SET(CURLOPT_URL, r->url) && SET(CURLOPT_HTTPHEADER, t->has_lines ? &t->lines[0] : NULL) &&
         set_method(easy, t, r) && set_times(easy, r) && set_way(h, c, r);
}

static bool start(struct http *h, struct http_transfer *t, const struct http_request *r) {
  struct carrier *c = carrier_take(h);
  if (!c) return false;
  c->error[0] = '\0';
  c->transfer = t;
  t->carrier = c;
  if (set_request(h, c, t, r) && curl_multi_add_handle(h->multi, c->easy) == CURLM_OK) return true;
  carrier_free(c);
  return false;
}

struct http_transfer *http_submit(struct http *h, const struct http_request *r, struct err *e) {
  const struct method *m = find_method(r->method);
  if (!request_valid(r, m, e)) return NULL;
  struct http_transfer *t = transfer_new(r, m);
  if (!t || !start(h, t, r)) {
    if (t) transfer_free(t);
    err_out_of_memory(e);
    return NULL;
  }
  enter(&h->running, t);
  h->in_flight++;
  return t;
}

/* ---- finishing ---- */

/* What libcurl's codes mean before and after the request could be written. Others: HTTP_LOCAL, HTTP_CUT. */
static const struct meaning {
  CURLcode code;
  enum http_failure before, after;
} meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_RESOLVE, HTTP_RESOLVE},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_RESOLVE, HTTP_RESOLVE},
    {CURLE_COULDNT_CONNECT, HTTP_CONNECT, HTTP_CONNECT},
    {CURLE_PROXY, HTTP_CONNECT, HTTP_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, HTTP_CONNECT, HTTP_TIMEOUT},
    {CURLE_GOT_NOTHING, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_SEND_ERROR, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_RECV_ERROR, HTTP_CONNECT, HTTP_EMPTY},
    {CURLE_SSL_CONNECT_ERROR, HTTP_TLS, HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CERTPROBLEM, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CIPHER, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_CACERT_BADFILE, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_ISSUER_ERROR, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_ENGINE_INITFAILED, HTTP_TLS, HTTP_TLS},
    {CURLE_SSL_INVALIDCERTSTATUS, HTTP_TLS, HTTP_TLS},
    {CURLE_OUT_OF_MEMORY, HTTP_LOCAL, HTTP_LOCAL},
};

static enum http_failure failure_of(const struct http_transfer *t, CURLcode code) {
  const struct http_response *r = &t->response;
  if (code == CURLE_OK) return HTTP_OK;
  if (t->stopped) return t->stopped;
  if (code == CURLE_OPERATION_TIMEDOUT && r->seconds + 0.001 >= t->timeout) return HTTP_TIMEOUT;
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
    if (meanings[i].code != code) continue;
    if (!r->sent) return meanings[i].before;
    return meanings[i].after == HTTP_EMPTY && t->header_bytes ? HTTP_CUT : meanings[i].after;
  }
  return r->sent ? HTTP_CUT : HTTP_LOCAL;
}

static const char *const sentences[] = {
    [HTTP_RESOLVE] = "the server's name could not be resolved; check the network and the name server",
    [HTTP_CONNECT] = "no connection to the server; check the network",
    [HTTP_TLS] = "no trusted connection to the server",
    [HTTP_TIMEOUT] = "no complete reply within the time limit",
    [HTTP_EMPTY] = "the connection ended without a reply",
    [HTTP_CUT] = "the reply ended early or cannot be read",
    [HTTP_TOO_LARGE] = "the reply is larger than allowed",
    [HTTP_CANCELLED] = "the request was cancelled",
    [HTTP_SINK] = "the body of the reply could not be written to its file; is the disk full?",
    [HTTP_LOCAL] = "the request could not be started",
};

/* libcurl's own text, unless it quotes the address. */
static const char *tls_detail(struct carrier *c, CURLcode code) {
  char *url = NULL, host[256];
  curl_easy_getinfo(c->easy, CURLINFO_EFFECTIVE_URL, &url);
  const char *begin = url ? strstr(url, "://") : NULL;
  if (!begin) return curl_easy_strerror(code);
  snprintf(host, sizeof host, "%.*s", (int)strcspn(begin + 3, "/:?#"), begin + 3);
  return c->error[0] && !strstr(c->error, host) ? c->error : curl_easy_strerror(code);
}

/* A machine without a battery-backed clock starts in 1970, when no certificate is valid yet. */
static void add_clock(char *message, size_t size, double wall) {
  enum { PROGRAM_WRITTEN = 1704067200 /* 2024-01-01 */, YEAR = 31556952 };
  size_t used = strlen(message);
  if (wall >= PROGRAM_WRITTEN) return;
  snprintf(message + used, size - used, "; this machine's clock says %d: set it", 1970 + (int)(wall / YEAR));
}

static void explain(struct http_transfer *t, struct carrier *c, CURLcode code) {
  struct http_response *r = &t->response;
  const char *detail = NULL;
  if (r->failure == HTTP_OK) return;
  if (r->failure == HTTP_TLS) detail = tls_detail(c, code);
  if (r->failure == HTTP_CUT || r->failure == HTTP_LOCAL) detail = curl_easy_strerror(code);
  if (t->stopped == HTTP_LOCAL) detail = "no memory or no descriptors left";
  snprintf(r->message, sizeof r->message, "%s%s%s", sentences[r->failure], detail ? ": " : "",
           detail ? detail : "");
  if (r->failure == HTTP_TLS) add_clock(r->message, sizeof r->message, (double)time(NULL));
}

static void detach(struct http *h, struct http_transfer *t, bool clean) {
  struct carrier *c = t->carrier;
  t->carrier = NULL;
  curl_multi_remove_handle(h->multi, c->easy);
  carrier_release(h, c, clean);
  buf_free(&t->copy);
}

static void finish(struct http *h, struct http_transfer *t, CURLcode code) {
  struct http_response *r = &t->response;
  r->seconds = poller_now() - t->started;
  r->failure = failure_of(t, code);
  explain(t, t->carrier, code);
  detach(h, t, code == CURLE_OK);
  enter(&h->done, t);
}

static void drain(struct http *h) {
  int left;
  for (CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
    struct carrier *c = NULL;
    if (m->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
    finish(h, c->transfer, m->data.result);
  }
}

/* ---- the loop's side ---- */

/* An error is told as both readiness: libcurl then asks the socket and gets the true reason. */
static void feed(struct http *h, const struct poller_event *event) {
  if ((size_t)event->fd < h->watched_size && h->watched[event->fd] & IDLE) {
    watch(h, event->fd, 0); /* the server closed an idle connection: libcurl looks before it uses one again */
    return;
  }
  int bits = 0, running;
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
  if (h->in_flight == 0) trim_spares(h, h->spares);
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

struct http_transfer *http_take(struct http *h) {
  struct http_transfer *t = h->done.first;
  if (!t) return NULL;
  enter(&h->taken, t);
  h->in_flight--;
  return t;
}

int http_in_flight(const struct http *h) {
  return h->in_flight;
}

void transfer_set_user(struct http_transfer *t, void *user) {
  t->user = user;
}

void *transfer_user(const struct http_transfer *t) {
  return t->user;
}

struct http_response *transfer_response(struct http_transfer *t) {
  return &t->response;
}

void http_cancel(struct http *h, struct http_transfer *t) {
  struct sigpipe held;
  if (!t->carrier) return;
  t->stopped = HTTP_CANCELLED;
  sigpipe_hold(&held);
  finish(h, t, CURLE_ABORTED_BY_CALLBACK);
  sigpipe_release(&held);
}

void http_drop(struct http *h, struct http_transfer *t) {
  http_cancel(h, t);
  if (t->list != &h->taken) h->in_flight--;
  leave(t);
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

static bool set_multi(struct http *h) {
  return curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
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
  h->timer_at = -1;
  h->multi = curl_multi_init();
  if (!h->multi || !set_multi(h)) {
    http_close(h);
    return err_out_of_memory(e);
  }
  *out = h;
  return true;
}

static void end_all(struct http *h, struct list *list) {
  while (list->first) http_drop(h, list->first);
}

/* After a fork: the name server's thread does not exist here, so that libcurl could wait for it for ever; and
 * a farewell on a TLS connection would end it for the parent. Its memory goes when the process ends. */
static void abandon(struct http *h) {
  for (size_t fd = 0; fd < h->watched_size; fd++)
    if (h->watched[fd] & OWNED) close((int)fd);
  for (struct http_transfer *t = h->running.first; t; t = t->next) t->carrier = NULL;
  end_all(h, &h->running);
}

static void release(struct http *h) {
  struct sigpipe held;
  end_all(h, &h->running);
  sigpipe_hold(&held);
  while (h->spare) drop_spare(h);
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
  free(h->watched);
  free(h);
}
