/* The verdict on an exchange, and whether to retry: pure functions of the exchange, the rows and time.
 *
 * A command reaches the vehicle at most once for each call. A column of the status rows gives the outcome
 * `not_sent`, `refused` or `unknown`. A failure before the request was sent is not_sent, and a status without
 * a row is unknown. A call is retried only if nothing was done or doing it twice is harmless, within its
 * deadline, and never after a 429.
 */
#ifndef FLEET_HTTP_OUTCOME_H
#define FLEET_HTTP_OUTCOME_H

#include "base/buf.h"
#include "base/reason.h"
#include "http/transfer.h"

enum vehicle_state { STATE_UNKNOWN, STATE_ONLINE, STATE_ASLEEP, STATE_OFFLINE };

struct exchange {
  enum http_failure failure;
  int status;
  bool sent;                   /* see http_response */
  bool proxied;                /* a signing proxy answered */
  bool write;                  /* not a read: it has an outcome */
  bool unreadable;             /* a 2xx whose body is not what the row promises */
  struct bytes text;           /* the reply's body or its error text; the first 16 KiB count */
  struct bytes words, details; /* what the body gives as the error and its description, decoded */
  struct bytes headers;
  enum vehicle_state state; /* last known */
  double wall;              /* UTC seconds, for a Retry-After that is a date */
};

struct verdict {
  enum kind kind; /* KIND_none: a 2xx that can be read */
  enum outcome outcome;
  bool transient;              /* the fault may be gone on another try */
  double retry_after;          /* seconds, 0: not said */
  const struct status *row;    /* the row that decided, or NULL */
  struct fault_word fault;     /* that a signing proxy passed on: it decided */
  const struct reason *reason; /* that a signing proxy gave beside a status without a meaning of its own */
  bool page;                   /* the body is a web page: its words are not the service's */
};

/* A 408 that names both asleep and offline means asleep, or offline when the vehicle is known to be in
 * another state. A 408 that only has "unavailable" means the known state, or a timeout when none is known. */
struct verdict outcome_judge(const struct exchange *x);

/* Whether a body is a web page: a firewall or a load balancer wrote it, not the service. */
bool outcome_page(struct bytes text, struct bytes headers);

enum next {
  NEXT_FAIL,
  NEXT_REFRESH /* the token, then repeat */,
  NEXT_REGION /* repeat there */,
  NEXT_REPEAT
};

struct history { /* of one call */
  bool write, idempotent;
  bool own_token;  /* a token that can be refreshed was used */
  bool other_host; /* a 421 named an acceptable host: other_host_named */
  int refreshes, regions, repeats;
  double left; /* seconds until the call's deadline */
};

/* What the call does after a failed exchange; *wait is the pause before it, in seconds. Does not read the
 * verdict's row. */
enum next outcome_next(const struct verdict *v, const struct history *h, double *wait);

#endif
