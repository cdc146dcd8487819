#include "mqtt/broker.h"

#include "base/fork.h"
#include "base/sigpipe.h"
#include "mqtt/tls.h"

#include <errno.h>
#include <mosquitto.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_QUEUED = 1000, MOST_PAYLOAD = 65536, PACKETS = 100 };

/* ---- events ---- */

void event_free(struct event *event) {
  if (!event) return;
  buf_free(&event->topic);
  buf_free(&event->payload);
  free(event);
}

static void enqueue(struct broker *b, struct event *event) {
  if (b->last)
    b->last->next = event;
  else
    b->first = event;
  b->last = event;
  b->queued++;
}

struct event *broker_take(struct broker *b) {
  struct event *event = b->first;
  if (!event) return NULL;
  b->first = event->next;
  if (!b->first) b->last = NULL;
  event->next = NULL;
  b->queued--;
  return event;
}

/* ---- the end of a connection ---- */

static const char *text_of(int rc, char *room, size_t size) {
  if (rc == MOSQ_ERR_ERRNO && errno == EAGAIN) return "no server listens there"; /* it lost the true errno */
  if (rc == MOSQ_ERR_KEEPALIVE) return "the broker was silent for too long";     /* it has no word for it */
  if (rc != MOSQ_ERR_ERRNO) return mosquitto_strerror(rc);
  return strerror_r(errno, room, size);
}

static enum kind kind_for(int rc) {
  return rc == MOSQ_ERR_TLS ? KIND_tls : KIND_network;
}

static void tell_end(struct broker *b) {
  b->ended = true;
  enqueue(b, b->farewell);
  b->farewell = NULL;
}

static void end(struct broker *b, enum kind kind, const char *text) {
  if (b->ended) return;
  bool more = b->trouble[0] != '\0';
  err_set(&b->why, kind, "the connection to the broker ended: %s%s%s%s", text, more ? " (" : "", b->trouble,
          more ? ")" : "");
  tell_end(b);
}

static void end_for_memory(struct broker *b) {
  if (b->ended) return;
  err_out_of_memory(&b->why);
  tell_end(b);
}

/* What a call of the library returned. */
static void check(struct broker *b, int rc) {
  char room[128];
  if (rc != MOSQ_ERR_SUCCESS) end(b, kind_for(rc), text_of(rc, room, sizeof room));
}

/* ---- callbacks of the library: they only fill the queue ---- */

/* Room for an event; without memory the connection ends. */
static struct event *event_new(struct broker *b, enum broker_event type, int number) {
  struct event *event = calloc(1, sizeof *event);
  if (!event) {
    end_for_memory(b);
    return NULL;
  }
  event->type = type;
  event->number = number;
  return event;
}

static void report(struct broker *b, enum broker_event type, int number) {
  struct event *event = event_new(b, type, number);
  if (event) enqueue(b, event);
}

static void on_connect(struct mosquitto *handle, void *object, int code) {
  struct broker *b = object;
  (void)handle;
  b->confirmed = code == 0;
  if (code == 0)
    report(b, EVENT_CONNECTED, 0);
  else
    end(b, code == 4 || code == 5 ? KIND_auth : KIND_network, mosquitto_connack_string(code));
}

static void on_disconnect(struct mosquitto *handle, void *object, int rc) {
  struct broker *b = object;
  (void)handle;
  if (rc == 0)
    end(b, KIND_closed, "it was closed");
  else
    check(b, rc);
}

/* A message that is too long is queued without payload: a cut payload could mean something else. */
static bool fill(struct event *event, const struct mosquitto_message *m) {
  event->retained = m->retain;
  event->size = m->payloadlen > 0 ? (size_t)m->payloadlen : 0;
  event->too_long = event->size > MOST_PAYLOAD;
  buf_text_add(&event->topic, m->topic);
  if (event->size && !event->too_long) buf_add(&event->payload, m->payload, event->size);
  return buf_ok(&event->topic) && buf_ok(&event->payload);
}

/* A message that cannot be kept ends the connection: none may be lost unseen. */
static void on_message(struct mosquitto *handle, void *object, const struct mosquitto_message *m) {
  struct broker *b = object;
  (void)handle;
  if (b->ended) return;
  if (b->queued >= MOST_QUEUED) {
    end(b, KIND_busy, "more messages came than can be handled");
    return;
  }
  struct event *event = event_new(b, EVENT_MESSAGE, m->mid);
  if (!event) return;
  if (fill(event, m)) {
    enqueue(b, event);
  } else {
    event_free(event);
    end_for_memory(b);
  }
}

static void on_publish(struct mosquitto *handle, void *object, int mid) {
  struct broker *b = object;
  (void)handle;
  if (b->unconfirmed > 0) b->unconfirmed--;
  report(b, EVENT_PUBLISHED, mid);
}

static void on_subscribe(struct mosquitto *handle, void *object, int mid, int count, const int *granted) {
  struct broker *b = object;
  (void)handle;
  report(b, EVENT_SUBSCRIBED, count > 0 && granted[0] <= 2 ? mid : 0);
}

static void on_log(struct mosquitto *handle, void *object, int level, const char *text) {
  struct broker *b = object;
  (void)handle;
  if (level & (MOSQ_LOG_ERR | MOSQ_LOG_WARNING)) snprintf(b->trouble, sizeof b->trouble, "%s", text);
}

/* ---- opening ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
  mosquitto_lib_init();
}

static void set_callbacks(struct mosquitto *handle) {
  mosquitto_connect_callback_set(handle, on_connect);
  mosquitto_disconnect_callback_set(handle, on_disconnect);
  mosquitto_message_callback_set(handle, on_message);
  mosquitto_publish_callback_set(handle, on_publish);
  mosquitto_subscribe_callback_set(handle, on_subscribe);
  mosquitto_log_callback_set(handle, on_log);
}

static bool set_tls(struct broker *b, const struct broker_options *o, struct err *e) {
  if (!o->tls) return true;
  struct broker_options named = *o;
  named.host = b->name = strdup(o->host);
  return b->name ? tls_use(b->handle, &named, e) : err_out_of_memory(e);
}

static int set_up(struct mosquitto *handle, const struct broker_options *o) {
  int rc = MOSQ_ERR_SUCCESS;
  if (o->user) rc = mosquitto_username_pw_set(handle, o->user, o->password);
  if (!rc && o->will_topic)
    rc = mosquitto_will_set(handle, o->will_topic, (int)strlen(o->will), o->will, 1, true);
  return rc;
}

bool broker_addresses(const char *host, struct addresses *found, struct err *e) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
  int result = getaddrinfo(host, NULL, &hints, &list);
  if (result)
    return err_set(e, KIND_network, "the broker's host %s has no address: %s", host, gai_strerror(result));
  found->count = 0;
  for (const struct addrinfo *a = list; a && found->count < MOST_ADDRESSES; a = a->ai_next) {
    char *text = found->text[found->count];
    if (!getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof found->text[0], NULL, 0, NI_NUMERICHOST))
      found->count++;
  }
  freeaddrinfo(list);
  return found->count > 0 || err_set(e, KIND_network, "the broker's host %s has no address", host);
}

static bool refuse(struct broker *b, const struct broker_options *o, int rc, struct err *e) {
  char room[128];
  const char *text = text_of(rc, room, sizeof room);
  bool more = b->trouble[0] != '\0';
  return err_set(e, rc == MOSQ_ERR_INVAL ? KIND_invalid : kind_for(rc),
                 "cannot connect to the broker at %s: %s%s%s", o->address ? o->address : o->host, text,
                 more ? ": " : "", b->trouble);
}

bool broker_open(struct broker *b, const struct broker_options *o, struct err *e) {
  struct sigpipe guard;
  pthread_once(&once, initialise);
  b->generation = fork_generation();
  b->most = o->most;
  b->handle = mosquitto_new(o->client_id, true, b);
  b->farewell = calloc(1, sizeof *b->farewell);
  if (!b->handle || !b->farewell) return err_out_of_memory(e);
  b->farewell->type = EVENT_ENDED;
  set_callbacks(b->handle);
  if (!set_tls(b, o, e)) return false;
  int rc = set_up(b->handle, o);
  if (rc) return refuse(b, o, rc, e);
  sigpipe_hold(&guard);
  rc = mosquitto_connect_async(b->handle, o->address ? o->address : o->host, o->port, o->keepalive);
  sigpipe_release(&guard);
  return rc ? refuse(b, o, rc, e) : true;
}

/* ---- turning ---- */

bool broker_forked(const struct broker *b) {
  return b->generation != fork_generation();
}

int broker_fd(const struct broker *b) {
  return b->handle && !b->ended ? mosquitto_socket(b->handle) : -1;
}

/* Until the socket is connected the library does not say that it waits for that. */
bool broker_wants_write(const struct broker *b) {
  return !b->reached || mosquitto_want_write(b->handle);
}

/* While it connects, the library takes a socket that failed for one that is not ready yet, and would ask for
 * ever. */
static void check_socket(struct broker *b) {
  char room[128];
  int failure = 0;
  socklen_t size = sizeof failure;
  struct pollfd socket = {mosquitto_socket(b->handle), 0, 0};
  if (b->confirmed || socket.fd < 0 || poll(&socket, 1, 0) <= 0) return;
  if (getsockopt(socket.fd, SOL_SOCKET, SO_ERROR, &failure, &size) || !failure) failure = ECONNRESET;
  end(b, KIND_network, strerror_r(failure, room, sizeof room));
}

void broker_ready(struct broker *b, bool readable, bool writable) {
  struct sigpipe guard;
  check_socket(b);
  if (b->ended) return;
  sigpipe_hold(&guard);
  if (writable) b->reached = true;
  if (readable) check(b, mosquitto_loop_read(b->handle, PACKETS));
  if (writable && !b->ended) check(b, mosquitto_loop_write(b->handle, PACKETS));
  sigpipe_release(&guard);
}

void broker_tick(struct broker *b) {
  struct sigpipe guard;
  if (b->ended) return;
  sigpipe_hold(&guard);
  check(b, mosquitto_loop_misc(b->handle));
  sigpipe_release(&guard);
}

/* ---- sending ---- */

static bool usable(struct broker *b, struct err *e) {
  if (!b->ended) return true;
  *e = b->why;
  return false;
}

static bool sent(int rc, const char *what, struct err *e) {
  char room[128];
  if (!rc) return true;
  return err_set(e, rc == MOSQ_ERR_INVAL ? KIND_invalid : KIND_network, "cannot %s: %s", what,
                 text_of(rc, room, sizeof room));
}

int broker_publish(struct broker *b, const char *topic, struct bytes payload, bool retained, struct err *e) {
  struct sigpipe guard;
  int mid = 0;
  if (!usable(b, e)) return 0;
  if (b->unconfirmed >= b->most) {
    err_set(e, KIND_busy, "%d messages wait for the broker already", b->unconfirmed);
    return 0;
  }
  sigpipe_hold(&guard);
  int rc = mosquitto_publish(b->handle, &mid, topic, (int)payload.size, payload.data, 1, retained);
  sigpipe_release(&guard);
  if (!sent(rc, "publish", e)) return 0;
  b->unconfirmed++;
  return mid;
}

bool broker_subscribe(struct broker *b, const char *topic, struct err *e) {
  struct sigpipe guard;
  if (!usable(b, e)) return false;
  sigpipe_hold(&guard);
  int rc = mosquitto_subscribe(b->handle, NULL, topic, 1);
  sigpipe_release(&guard);
  return sent(rc, "subscribe", e);
}

void broker_disconnect(struct broker *b) {
  struct sigpipe guard;
  if (b->ended) return;
  sigpipe_hold(&guard);
  mosquitto_disconnect(b->handle);
  sigpipe_release(&guard);
}

/* A forked child does not write: its bytes would belong to the parent's session. */
void broker_close(struct broker *b) {
  struct sigpipe guard;
  if (b->handle && !broker_forked(b)) {
    sigpipe_hold(&guard);
    mosquitto_destroy(b->handle);
    sigpipe_release(&guard);
  } else if (b->handle) {
    close(mosquitto_socket(b->handle));
  }
  b->handle = NULL;
  b->ended = true;
  for (struct event *event; (event = broker_take(b));) event_free(event);
  event_free(b->farewell);
  b->farewell = NULL;
  free(b->name);
  b->name = NULL;
}
