/* The yardstick for the proxy's budget: what somebody would write by hand with the same libraries. One
 * request is answered with libmicrohttpd, one is made with libcurl's multi interface, one command is signed
 * and one answer is opened. No queues, no checks, no tokens, no repeats, no limits.
 *
 *   proxy <base url of the vehicles> <key file>     prints its port; ends with its standard input */
#include "crypto/key.h"
#include "crypto/keyfile.h"
#include "crypto/random.h"
#include "signing/session.h"
#include "signing/wire/codec.h"

#include <curl/curl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_VEHICLES = 256 };

struct vehicle {
  char vin[VIN_SIZE + 1];
  struct session *session;
};

struct call {
  struct MHD_Connection *connection;
  struct vehicle *vehicle;
  struct buf body, reply;
  CURL *easy;
  struct call *next; /* free ones */
  bool begun, done, good;
};

static const char *base_url;
static struct crypto *crypto;
static struct key *key;
static struct vehicle vehicles[MOST_VEHICLES];
static int vehicle_count, epoll_fd;
static long timeout_ms = -1;
static CURLM *multi;
static struct curl_slist *headers;
static struct call *idle;
static struct buf payload = BUF_INIT;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

/* ---- the vehicle's side ---- */

static size_t on_reply(char *data, size_t one, size_t size, void *user) {
  buf_add(user, data, one * size);
  return one * size;
}

static void begin_body(struct call *c, const struct buf *message) {
  buf_clear(&c->body), buf_clear(&c->reply);
  buf_text_add(&c->body, "{\"routable_message\":\"");
  buf_base64(&c->body, buf_bytes(message));
  buf_text_add(&c->body, "\"}");
  curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body.data);
  curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)c->body.size);
}

static bool message_of(const struct buf *reply, struct buf *message) {
  const char *from = strstr(buf_text(reply), "\"response\":\""), *to = from ? strchr(from + 12, '"') : NULL;
  return to &&
         buf_unbase64(message, (struct bytes){(const unsigned char *)from + 12, (size_t)(to - from) - 12});
}

static CURL *new_easy(struct call *c, const char *vin) {
  char url[256];
  CURL *easy = c->easy ? c->easy : curl_easy_init();
  snprintf(url, sizeof url, "%s/api/1/vehicles/%s/signed_command", base_url, vin);
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_reply);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &c->reply);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
  return easy;
}

static struct vehicle *new_vehicle(const char *vin) {
  struct err e;
  err_clear(&e);
  struct call c = {0};
  struct message_random d;
  struct buf message = BUF_INIT, answer = BUF_INIT;
  struct vehicle *v = &vehicles[vehicle_count++];
  require(vehicle_count <= MOST_VEHICLES, "too many vehicles");
  memcpy(v->vin, vin, VIN_SIZE);
  v->session = session_new(key, v->vin, DOMAIN_INFOTAINMENT, &e);
  crypto_random(crypto, &d, sizeof d, NULL);
  require(session_handshake(v->session, &d, now(), &message, &e), e.message);
  c.easy = new_easy(&c, v->vin);
  begin_body(&c, &message);
  require(curl_easy_perform(c.easy) == CURLE_OK && message_of(&c.reply, &answer), "handshake");
  require(session_accept(v->session, buf_bytes(&answer), now(), &e), e.message);
  curl_easy_cleanup(c.easy);
  buf_free(&c.body), buf_free(&c.reply), buf_free(&message), buf_free(&answer);
  return v;
}

static struct vehicle *vehicle_of(const char *vin) {
  for (int i = 0; i < vehicle_count; i++)
    if (memcmp(vehicles[i].vin, vin, VIN_SIZE) == 0) return &vehicles[i];
  return new_vehicle(vin);
}

static void send_command(struct call *c) {
  struct err e;
  err_clear(&e);
  struct sign_options o = {METHOD_HMAC, 15, FLAG_ENCRYPT_RESPONSE};
  struct message_random d;
  struct buf message = BUF_INIT;
  crypto_random(crypto, &d, sizeof d, NULL);
  require(session_sign(c->vehicle->session, buf_bytes(&payload), &o, &d, now(), &message, &e), e.message);
  c->easy = new_easy(c, c->vehicle->vin);
  begin_body(c, &message);
  buf_free(&message);
  curl_multi_add_handle(multi, c->easy);
}

static void take_answer(struct call *c) {
  struct err e;
  err_clear(&e);
  struct answer a;
  struct buf message = BUF_INIT, plain = BUF_INIT;
  c->good = message_of(&c->reply, &message) &&
            session_open(c->vehicle->session, buf_bytes(&message), now(), &a, &plain, &e);
  c->done = true;
  buf_free(&message), buf_free(&plain);
  MHD_resume_connection(c->connection);
}

/* ---- the caller's side ---- */

static struct call *new_call(void) {
  struct call *c = idle;
  if (!c) return calloc(1, sizeof *c);
  idle = c->next;
  c->begun = c->done = c->good = false;
  return c;
}

static enum MHD_Result answer(struct call *c, struct MHD_Connection *connection) {
  static const char done[] = "{\"response\":{\"result\":true,\"reason\":\"\"}}";
  struct MHD_Response *r = MHD_create_response_from_buffer(c->good ? sizeof done - 1 : 0,
                                                           (void *)(uintptr_t)done, MHD_RESPMEM_PERSISTENT);
  MHD_add_response_header(r, "Content-Type", "application/json");
  enum MHD_Result queued = MHD_queue_response(connection, c->good ? 200 : 502, r);
  MHD_destroy_response(r);
  return queued;
}

static enum MHD_Result on_call(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *size,
                               void **context) {
  static const char start[] = "/api/1/vehicles/";
  struct call *c = *context;
  (void)cls, (void)method, (void)version, (void)data;
  if (!c) return (*context = new_call()) ? MHD_YES : MHD_NO;
  if (*size) return *size = 0, MHD_YES;
  if (c->done) return answer(c, connection);
  if (c->begun) return MHD_YES;
  if (strncmp(url, start, sizeof start - 1) != 0) return MHD_NO;
  c->begun = true;
  c->connection = connection;
  c->vehicle = vehicle_of(url + sizeof start - 1);
  MHD_suspend_connection(connection);
  send_command(c);
  return MHD_YES;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
  struct call *c = *context;
  (void)cls, (void)connection, (void)code;
  if (!c) return;
  c->next = idle;
  idle = c;
}

/* ---- the loop ---- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known) {
  (void)easy, (void)user;
  struct epoll_event event = {.data.fd = fd};
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL), 0;
  epoll_ctl(epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  curl_multi_assign(multi, fd, &epoll_fd);
  return 0;
}

static int on_timer(CURLM *m, long milliseconds, void *user) {
  (void)m, (void)user;
  timeout_ms = milliseconds;
  return 0;
}

static void watch(int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void take_answers(void) {
  int queued;
  for (CURLMsg *m; (m = curl_multi_info_read(multi, &queued));) {
    struct call *c;
    curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
    curl_multi_remove_handle(multi, c->easy);
    take_answer(c);
  }
}

/* What the library has read already does not make its descriptor readable again. */
static void run_daemon(struct MHD_Daemon *daemon) {
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  for (int turn = 0; turn < 4 && milliseconds == 0; turn++) {
    MHD_run(daemon);
    if (MHD_get_timeout(daemon, &milliseconds) != MHD_YES) break;
  }
}

static bool step(struct MHD_Daemon *daemon, int daemon_fd) {
  struct epoll_event events[256];
  int running, count = epoll_wait(epoll_fd, events, 256, (int)timeout_ms);
  for (int i = 0; i < count; i++) {
    int fd = events[i].data.fd, bits = (events[i].events & ~(unsigned)EPOLLOUT ? CURL_CSELECT_IN : 0) |
                                       (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
    if (fd == 0) return false;
    if (fd != daemon_fd) curl_multi_socket_action(multi, fd, bits, &running);
  }
  if (count == 0) {
    timeout_ms = -1;
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  take_answers();
  run_daemon(daemon);
  if (timeout_ms == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
  return true;
}

static void make_multi(void) {
  multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  headers = curl_slist_append(NULL, "Content-Type: application/json");
  headers = curl_slist_append(headers, "Authorization: Bearer t");
}

int main(int argc, char **argv) {
  struct err e;
  err_clear(&e);
  struct buf pem = BUF_INIT;
  require(argc == 3, "two arguments");
  base_url = argv[1];
  curl_global_init(CURL_GLOBAL_DEFAULT);
  crypto = crypto_new(&e);
  require(keyfile_read(&pem, argv[2], false, &e), e.message);
  require((key = key_parse(crypto, buf_bytes(&pem), (struct bytes){NULL, 0}, &e)) != NULL, e.message);
  struct value none[2] = {{0}};
  require(codec_encode(command_row("honk_horn"), none, 0, &payload, &e), e.message);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  make_multi();
  struct MHD_Daemon *daemon =
      MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_call, NULL,
                       MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
  require(daemon != NULL, "the daemon");
  int daemon_fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  watch(daemon_fd), watch(0);
  printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
  fflush(stdout);
  while (step(daemon, daemon_fd)) {
  }
  return 0;
}
