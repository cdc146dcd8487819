/* The pair of tokens of one kind: what is kept of a reply, its ages, and what to do with it at a given time.
 *
 * Within a process an access token ages by the monotonic clock, from when the process first read it; the wall
 * clock counts only before that, and one that is earlier than the time of saving is not believed: then the
 * token is tried. Which of two
 * pairs is newer is never asked of a clock: every exchange is made under a lease, and its order is the
 * lease's number.
 */
#ifndef FLEET_OAUTH_TOKEN_H
#define FLEET_OAUTH_TOKEN_H

#include "base/buf.h"

struct token {
  struct buf access, refresh, previous; /* empty: none. previous: the refresh token before this one */
  struct buf scope, asked;              /* granted as the reply said, asked for; words */
  double expires_at, saved_at, refreshed_at, previous_ends; /* UTC seconds, 0: not known */
  double order; /* of the exchange: greater is newer, 0: not known */
  /* By the monotonic clock, 0: not known; not stored. Of the access token, and of the one before. */
  double ends, previous_here;
};

struct now {
  double mono, wall;
};

void token_free(struct token *t);
bool token_copy(struct token *t, const struct token *from); /* into an empty one; false: out of memory */
double token_order(double number);                /* a whole number within its range; 0: it is none */
bool token_access_good(const struct buf *access); /* it becomes a header: RFC 6749 appendix A.12 */

/* ---- a new pair ---- */

struct token_made { /* how a pair was got */
  struct now now;   /* of the reply */
  double lifetime;  /* seconds, 0: not known */
  double fence;     /* of the lease, which grows with every lease */
  double after;     /* order of the stored pair, 0: none */
  bool third_party; /* the service takes the refresh token before the newest for a day */
};
/* Completes t, which holds access and what refresh, scope and asked the reply and the caller gave: the
 * refresh token that the reply leaves out, the ages, the order. before: the pair whose refresh token was
 * used, or NULL. False: out of memory. */
bool token_complete(struct token *t, const struct token *before, const struct token_made *made);

/* For a token that was read from a store: sets its end by the monotonic clock from the time that is left by
 * the wall clock. */
void token_begin(struct token *t, const struct now *now);

/* ---- decisions: token_choice.c ---- */

enum token_choice { TOKEN_USE, TOKEN_REFRESH, TOKEN_LOGIN };
/* rejected: the access token that the service just answered with 401, or data NULL. */
enum token_choice token_choose(const struct token *t, const struct now *now, struct bytes rejected);
/* Seconds that the access token still lives; false: not known. */
bool token_left(const struct token *t, const struct now *now, double *left);
bool token_newer(const struct token *t, const struct token *stored); /* t's exchange came after */
/* Whether the one before may still be taken, by either clock: a wall clock may have been set. */
bool token_previous(const struct token *t, const struct now *now);
bool token_stale(const struct token *t, const struct now *now); /* not refreshed for 30 days */
double token_refresh_by(const struct token *t); /* UTC seconds, 0: not known or nothing to refresh */

#endif
