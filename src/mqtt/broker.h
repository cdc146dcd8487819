/* One connection to an MQTT broker, through libmosquitto, without threads and without waiting.
 *
 * A connection lives once: when it ends, for any reason, it stays ended, and the caller makes another.
 * So nothing of a former connection is sent again by the library, and a new socket is a new object. The
 * library's callbacks only put events into our own queue, because the code that takes events may raise.
 * What arrives faster than it is taken is bounded. No Lua here.
 */
#ifndef FLEET_MQTT_BROKER_H
#define FLEET_MQTT_BROKER_H

#include "base/buf.h"
#include "base/err.h"

struct mosquitto;

enum broker_event { EVENT_CONNECTED, EVENT_MESSAGE, EVENT_PUBLISHED, EVENT_SUBSCRIBED, EVENT_ENDED };

struct event {
  struct event *next;
  enum broker_event type;
  int number;    /* message id; of EVENT_SUBSCRIBED 0 where the broker refused */
  bool retained; /* it lay at the broker when we subscribed */
  bool too_long; /* the payload is above the limit and was dropped */
  size_t size;   /* of the payload as it came */
  struct buf topic, payload;
};

struct broker_options {
  const char *host; /* the name that its certificate must have; or the path of a Unix socket, with port 0 */
  const char *address; /* one of the host's addresses; NULL: the host itself */
  int port, keepalive;
  const char *client_id; /* NULL: a random one */
  const char *user, *password;
  bool tls;
  const char *ca_file, *cert_file, *key_file; /* NULL: the system's authorities; no certificate of our own */
  const char *will_topic;                     /* NULL: none; retained, QoS 1 */
  const char *will;
  int most; /* messages that are published and not confirmed */
};

struct broker {
  struct mosquitto *handle;
  struct event *first, *last;
  struct event *farewell; /* the event of the end, made beforehand: it needs no memory then */
  int queued, unconfirmed, most;
  unsigned generation; /* of forks */
  bool reached;        /* the socket has been writable once */
  bool confirmed;      /* the broker took us */
  bool ended;
  struct err why;    /* it ended */
  char *name;        /* of the host, which TLS verifies */
  char trouble[160]; /* the last error text of the library */
};

/* Addresses of a host as text, in the order in which they are to be tried. */
enum { MOST_ADDRESSES = 16 };
struct addresses {
  int count;
  char text[MOST_ADDRESSES][64];
};

/* The system looks the name up, which may take its time. false: e says why. */
bool broker_addresses(const char *host, struct addresses *found, struct err *e);

/* Begins to connect. */
bool broker_open(struct broker *b, const struct broker_options *o, struct err *e);
int broker_fd(const struct broker *b); /* -1: ended */
bool broker_wants_write(const struct broker *b);
bool broker_forked(const struct broker *b);

/* None of them waits. After each of them events may be there. */
void broker_ready(struct broker *b, bool readable, bool writable);
void broker_tick(struct broker *b); /* once a second or so: keepalive and its limits */

/* The message id, 0 where the queue is full or the connection has ended: e says why. */
int broker_publish(struct broker *b, const char *topic, struct bytes payload, bool retained, struct err *e);
bool broker_subscribe(struct broker *b, const char *topic, struct err *e);
void broker_disconnect(
    struct broker *b); /* says goodbye: the will is not sent. What was published may still leave */

struct event *broker_take(struct broker *b); /* NULL: none. The caller frees it */
void event_free(struct event *event);
void broker_close(struct broker *b); /* without a goodbye */

#endif
