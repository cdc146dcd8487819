#include "oauth/token.h"

#include <math.h>

static const double last_order = 1e12;

enum { DAY = 86400 }; /* a third-party app's refresh token lives on after its use */

void token_free(struct token *t) {
  buf_free(&t->access);
  buf_free(&t->refresh);
  buf_free(&t->previous);
  buf_free(&t->scope);
  buf_free(&t->asked);
}

/* What is no number at all fails both comparisons. */
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
