/* An access token and its refresh token: what is kept of a reply, when they end, and what to do with them.
 *
 * In a process an access token ages by the monotonic clock, from the first time the process read it. Its age
 * before that comes from the wall clock. A wall clock that is earlier than the time of saving is wrong: the
 * age is then unknown, and the token is used.
 *
 * No clock decides which of two pairs is newer. Each exchange needs a lease, and the number of the lease
 * gives the order.
 */
#ifndef FLEET_OAUTH_TOKEN_H
#define FLEET_OAUTH_TOKEN_H

#include "base/buf.h"

struct token {
  struct buf access, refresh, previous; /* empty: none. previous: the refresh token before */
  struct buf scope, asked;              /* scopes: granted by the reply, and requested */
  double expires_at, saved_at, refreshed_at, previous_ends; /* UTC seconds, 0: not known */
  double order; /* of the exchange: greater is newer, 0: not known */
  /* By the monotonic clock, 0: not known; not stored. End of the access token, and of previous. */
  double ends, previous_here;
};

struct now {
  double mono, wall;
};

void token_free(struct token *t);
bool token_copy(struct token *t, const struct token *from); /* into an empty one; false: out of memory */
double token_order(double number);                /* a whole number within its range; 0: it is none */
bool token_access_good(const struct buf *access); /* fit for a header: RFC 6749 appendix A.12 */

/* ---- a new pair ---- */

struct token_made { /* the exchange that brought a pair */
  struct now now;   /* of the reply */
  double lifetime;  /* seconds, 0: not known */
  double fence;     /* of the lease, which grows with every lease */
  double after;     /* order of the stored pair, 0: none */
  bool third_party; /* the service accepts the refresh token before the newest for a day */
};
/* Completes t, which has access, and refresh, scope and asked as far as the reply and the caller gave them.
 * Sets the times and the order, and a refresh token that the reply left out. before: the pair whose refresh
 * token was used, or NULL. False: out of memory. */
bool token_complete(struct token *t, const struct token *before, const struct token_made *made);

/* For a token from a store: sets its end by the monotonic clock, from the time left by the wall clock. */
void token_begin(struct token *t, const struct now *now);

/* ---- decisions ---- */

enum token_choice { TOKEN_USE, TOKEN_REFRESH, TOKEN_LOGIN };
/* rejected: the access token that the service just answered with 401, or data NULL. */
enum token_choice token_choose(const struct token *t, const struct now *now, struct bytes rejected);
/* Seconds until the access token ends; false: not known. */
bool token_left(const struct token *t, const struct now *now, double *left);
bool token_newer(const struct token *t, const struct token *stored); /* t's exchange came after */
/* Whether the service may still accept the refresh token before, by either clock: a wall clock may be set. */
bool token_previous(const struct token *t, const struct now *now);
bool token_stale(const struct token *t, const struct now *now); /* not refreshed for 30 days */
double token_refresh_by(const struct token *t); /* UTC seconds, 0: not known or nothing to refresh */

#endif
