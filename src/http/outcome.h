/* What an exchange means and what to do next: pure functions of what happened, of the rows and of time.
 *
 * Rule R1: a command reaches the vehicle at most once per call. Whether a failure is `not_sent`, `refused` or `unknown`
 * is a column of the status rows; a failure before the body left is not_sent; everything that no row settles is unknown.
 */
#ifndef FLEET_HTTP_OUTCOME_H
#define FLEET_HTTP_OUTCOME_H

#include "base/buf.h"
#include "http/http.h"

enum vehicle_state { STATE_UNKNOWN, STATE_ONLINE, STATE_ASLEEP, STATE_OFFLINE };

struct exchange {
  enum http_failure failure;
  int status;
  bool sent;          /* see http_response */
  bool write;         /* not a read: it has an outcome */
  bool unreadable;    /* a 2xx whose body is not what the row promises */
  struct bytes text;  /* the reply's body or its error text */
  struct bytes headers;
  enum vehicle_state state; /* last known */
  double wall;              /* UTC seconds, for a Retry-After that is a date */
};

struct verdict {
  enum kind kind; /* KIND_none: a 2xx that can be read */
  enum outcome outcome;
  double retry_after;       /* seconds, 0: not said */
  const struct status *row; /* the row that decided, or NULL */
};

struct verdict outcome_judge(const struct exchange *x);

enum next { NEXT_FAIL, NEXT_REFRESH, NEXT_REGION, NEXT_REPEAT };

struct history { /* of one call */
  bool write, idempotent;
  bool own_token;  /* a token that can be refreshed was used */
  bool other_host; /* a 421 named an acceptable host */
  int refreshes, regions, repeats;
  double left; /* seconds until the call's deadline */
};

/* What the call does after a failed exchange; *wait is the pause before it, in seconds. */
enum next outcome_next(const struct verdict *v, const struct history *h, double *wait);

/* Seconds to wait according to retry-after, ratelimit-reset, "Retry in N seconds", or 300; see service-facts 3.4 for
 * the order. headers are http_response.headers. */
double outcome_retry_after(struct bytes headers, struct bytes text, double wall);

#endif
