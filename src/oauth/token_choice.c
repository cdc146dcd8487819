/* What to do with a token at a given time: use it, refresh it, sign in again; and which of two is newer. */
#include "oauth/token.h"

enum {
  MARGIN = 60, /* refreshed when less is left */
  DAY = 86400,
  REFRESH_LIFE = 90 * DAY, /* of a refresh token, since its exchange */
  STALE_AFTER = 30 * DAY   /* of the refresh token, so that none dies of disuse */
};

void token_begin(struct token *t, const struct now *now) {
  static const double long_ago = 1e-3; /* 0 is not known */
  double left;
  if (t->ends > 0 || !token_left(t, now, &left)) return;
  t->ends = now->mono + left > long_ago ? now->mono + left : long_ago;
}

bool token_left(const struct token *t, const struct now *now, double *left) {
  bool here = t->ends > 0, known = here || (t->expires_at > 0 && now->wall >= t->saved_at);
  if (known) *left = here ? t->ends - now->mono : t->expires_at - now->wall;
  return known;
}

enum token_choice token_choose(const struct token *t, const struct now *now, struct bytes rejected) {
  enum token_choice without = t->refresh.size ? TOKEN_REFRESH : TOKEN_LOGIN;
  double left;
  if (!t->access.size) return without;
  if (rejected.data && bytes_equal_secret(buf_bytes(&t->access), rejected)) return without;
  if (!token_left(t, now, &left) || left > MARGIN) return TOKEN_USE;
  return left > 0 && !t->refresh.size ? TOKEN_USE : without;
}

/* Of two with the same number the stored one is newer: the other's lease had ended before. */
bool token_newer(const struct token *t, const struct token *stored) {
  return t->order > stored->order;
}

bool token_previous(const struct token *t, const struct now *now) {
  return t->previous.size && (now->wall < t->previous_ends || now->mono < t->previous_here);
}

/* A time in the clock's future was not measured by this clock, and says nothing. */
bool token_stale(const struct token *t, const struct now *now) {
  double age = now->wall - t->refreshed_at;
  return t->refresh.size && (age > STALE_AFTER || age < -DAY);
}

double token_refresh_by(const struct token *t) {
  return t->refresh.size && t->refreshed_at > 0 ? t->refreshed_at + REFRESH_LIFE : 0;
}
