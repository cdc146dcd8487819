#include "oauth/token.h"

#include <math.h>

static const double last_order = 1e12;

enum {
  DAY = 86400,             /* also how long a third-party app's refresh token is valid after its use */
  MARGIN = 60,             /* s: a token that ends sooner is refreshed */
  REFRESH_LIFE = 90 * DAY, /* of a refresh token, since its exchange */
  STALE_AFTER = 30 * DAY   /* a refresh token is exchanged before disuse ends it */
};

void token_free(struct token *t) {
  buf_free(&t->access);
  buf_free(&t->refresh);
  buf_free(&t->previous);
  buf_free(&t->scope);
  buf_free(&t->asked);
}

/* NaN fails both comparisons. */
double token_order(double number) {
  return number >= 1 && number <= last_order ? floor(number) : 0;
}

bool token_access_good(const struct buf *access) {
  for (size_t i = 0; i < access->size; i++)
    if (access->data[i] < 0x20 || access->data[i] > 0x7E) return false;
  return access->size > 0;
}

static void copy(struct buf *to, const struct buf *from) {
  buf_add(to, from->data, from->size);
}

static bool is_whole(const struct token *t) {
  return buf_ok(&t->access) && buf_ok(&t->refresh) && buf_ok(&t->previous) && buf_ok(&t->scope) &&
         buf_ok(&t->asked);
}

bool token_copy(struct token *t, const struct token *from) {
  struct buf none = BUF_INIT;
  *t = *from;
  t->access = t->refresh = t->previous = t->scope = t->asked = none;
  copy(&t->access, &from->access), copy(&t->refresh, &from->refresh), copy(&t->previous, &from->previous);
  copy(&t->scope, &from->scope), copy(&t->asked, &from->asked);
  return is_whole(t);
}

/* ---- a new pair ---- */

static void keep_previous(struct token *t, const struct token *before, const struct token_made *made) {
  if (!made->third_party || !before->refresh.size) return;
  if (bytes_equal_secret(buf_bytes(&before->refresh), buf_bytes(&t->refresh))) return;
  copy(&t->previous, &before->refresh);
  t->previous_ends = made->now.wall + DAY;
  t->previous_here = made->now.mono + DAY;
}

bool token_complete(struct token *t, const struct token *before, const struct token_made *made) {
  bool kept = !t->refresh.size && before; /* a reply without refresh token leaves the old one valid */
  if (kept) copy(&t->refresh, &before->refresh);
  if (kept) copy(&t->previous, &before->previous);
  if (before && !t->asked.size) copy(&t->asked, &before->asked);
  if (before && !kept) keep_previous(t, before, made);
  if (kept) t->previous_ends = before->previous_ends, t->previous_here = before->previous_here;
  t->saved_at = made->now.wall;
  t->refreshed_at = kept ? before->refreshed_at : made->now.wall;
  t->expires_at = made->lifetime > 0 ? made->now.wall + made->lifetime : 0;
  t->ends = made->lifetime > 0 ? made->now.mono + made->lifetime : 0;
  t->order = token_order(fmax(token_order(made->fence), token_order(made->after) + 1));
  return is_whole(t);
}

/* ---- decisions ---- */

void token_begin(struct token *t, const struct now *now) {
  static const double long_ago = 1e-3; /* 0 means unknown */
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

/* Two tokens have the same number when the lease of one had ended: the stored one is newer. */
bool token_newer(const struct token *t, const struct token *stored) {
  return t->order > stored->order;
}

bool token_previous(const struct token *t, const struct now *now) {
  return t->previous.size && (now->wall < t->previous_ends || now->mono < t->previous_here);
}

/* A time in the future was measured before this clock was corrected: its age is unknown. */
bool token_stale(const struct token *t, const struct now *now) {
  double age = now->wall - t->refreshed_at;
  return t->refresh.size && (age > STALE_AFTER || age < -DAY);
}

double token_refresh_by(const struct token *t) {
  return t->refresh.size && t->refreshed_at > 0 ? t->refreshed_at + REFRESH_LIFE : 0;
}
