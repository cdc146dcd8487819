/* Structs that the files of the server share: a connection, and a request with its reply.
 *
 * - sockets_epoll.c or sockets_poll.c wait for the sockets.
 * - connection.c sets the time limits of a client; deadline.c ends what took too long.
 * - exchange.c reads a request and writes its reply.
 * - daemon.c has the library's callbacks.
 *
 * All run inside daemon_run or when an answer is given, and never wait.
 */
#ifndef FLEET_SERVER_INTERNAL_H
#define FLEET_SERVER_INTERNAL_H

#include "server/daemon.h"

#include <microhttpd.h>

enum stage { ARRIVING, QUEUED, HANDED, ANSWERED, REFUSED, GONE };

struct exchange {
  struct daemon *daemon; /* NULL once it is closed */
  struct MHD_Connection *connection;
  struct exchange *before, *after; /* all of a daemon */
  struct exchange *next;           /* queue */
  int holders;                     /* connection, caller, paced response */
  enum stage stage;
  bool started, suspended, too_large, drop;
  bool head;                  /* only its head has come: its handler decides whether the body may */
  bool misread;               /* its body is framed in a way that is read in two ways */
  size_t announced, reserved; /* bytes of its body, at most; those that are reserved for it */
  double due;                 /* when the timer must look at it, 0: never */
  char method[16];
  struct buf target, headers, body;
  const char *raw_target;           /* where the library has it */
  const char *body_from, *body_end; /* the library's buffer; where the last piece of the body ended */
  struct MHD_Response *response;
  unsigned status;
  struct pace pace;
  struct buf reply; /* of a paced response */
  size_t allowed;   /* bytes of it that may leave by now; of a body too large, bytes thrown away */
};

/* One connection, with one deadline for all headers. The library's timeout restarts with every byte, so that
 * a client which sends them byte by byte could stay for ever. */
struct visitor {
  struct MHD_Connection *connection;
  struct visitor *before, *after;
  double due; /* for the next request to have arrived up to its body, 0: one is being served */
};

/* ---- sockets_epoll.c, sockets_poll.c ---- */

extern const unsigned sockets_flags;   /* of the library: how it waits for its sockets */
extern const bool sockets_write_late;  /* replies of a run are written in the next one */
void sockets_run(struct daemon *d);    /* the library does what can be done without waiting */
bool sockets_join(struct daemon *d);   /* once it has started: the poller waits for its sockets, too */
void sockets_follow(struct daemon *d); /* after runs: they may be others */

/* ---- timer.c, deadline.c ---- */

void deadline_set(struct daemon *d, double at); /* deadline_look is to look at that time at the latest */
void deadline_look(struct daemon *d);           /* ends what took too long */

/* ---- connection.c ---- */

void connection_notified(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_ConnectionNotificationCode what);
struct visitor *connection_visitor(struct MHD_Connection *connection);
void connection_awaits(struct daemon *d, struct visitor *v);            /* the next request */
double connection_due(const struct daemon *d, const struct visitor *v); /* when it is turned away, 0: never */
void connection_turn_away(struct visitor *v);
int connection_socket(struct MHD_Connection *connection);

/* ---- head.c ---- */

/* Whether the head is laid out as RFC 9112 says; *end is where it ends, NULL: unknown. */
bool head_is_well_formed(const struct exchange *x, const char *method, const char *version, const char **end);
#define VERSION_OF_DISCIPLINE 0x00097701 /* of the library: it has MHD_OPTION_CLIENT_DISCIPLINE_LVL */

/* ---- exchange.c ---- */

struct exchange *exchange_new(struct daemon *d, const char *target);
void exchange_enqueue(struct daemon *d, struct exchange *x);
struct exchange *exchange_dequeue(struct daemon *d);
void exchange_gone(struct exchange *x); /* its connection is done with it */
void exchange_suspend(struct exchange *x, double seconds);
void exchange_resume(struct exchange *x);
#define TOO_MANY_BODIES "too many large bodies arrive at this moment\n"
bool exchange_reserve(struct exchange *x, size_t size); /* false: too many bodies arrive */
void exchange_answer(struct exchange *x, unsigned status, struct MHD_Response *response, double delay);
void exchange_expire(struct exchange *x);
struct MHD_Response *exchange_text(const char *text); /* a response of the server's own */

#endif
