#include "oauth/reply.h"

#include "base/reason.h"
#include "base/redact.h"
#include "http/outcome.h"
#include "http/retry_after.h"
#include "oauth/grant.h"
#include "oauth/json_object.h"

#include <string.h>

enum { SHOWN_DESCRIPTION = 200, LONGEST_LIFE = 3650 * 86400 };
static const double clock_was_set = 1672531200; /* 2023: an earlier wall clock was never set */

/* ---- what it holds ---- */

bool reply_claims(struct buf *json, struct bytes token) {
  size_t before = json->size;
  const unsigned char *end = token.data + token.size;
  const unsigned char *first = token.size ? memchr(token.data, '.', token.size) : NULL;
  const unsigned char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
  if (!second || second == first + 1 || second + 1 == end) return false;
  if (memchr(second + 1, '.', (size_t)(end - second - 1))) return false;
  struct bytes payload = {first + 1, (size_t)(second - first - 1)};
  return buf_unbase64url(json, payload) && json->size > before && json->data[before] == '{';
}

/* A lifetime out of its range, or none at all, fails both comparisons. */
static bool read_pair(struct bytes body, struct token *t, double *lifetime) {
  double seconds = object_number(body, "expires_in");
  *lifetime = seconds > 0 && seconds <= LONGEST_LIFE ? seconds : 0;
  object_text(body, "refresh_token", &t->refresh);
  object_text(body, "scope", &t->scope);
  return object_whole(body) && object_text(body, "access_token", &t->access) && token_access_good(&t->access);
}

/* An injected code of another person's sign-in brings an id_token with another nonce, or without one. */
static bool is_our_sign_in(struct bytes body, struct bytes nonce, struct err *e) {
  struct bytes member = object_member(body, "id_token");
  struct buf id_token = BUF_INIT, claims = BUF_INIT, found = BUF_INIT;
  bool none = !nonce.data || !member.data || bytes_equal(member, bytes_of("null"));
  bool good =
      none ||
      (object_text(body, "id_token", &id_token) && reply_claims(&claims, buf_bytes(&id_token)) &&
       object_text(buf_bytes(&claims), "nonce", &found) && bytes_equal_secret(buf_bytes(&found), nonce));
  if (!good) {
    err_set(e, KIND_auth, "the sign-in cannot be accepted: its id_token belongs to another sign-in");
    err_reason(e, "nonce");
  }
  buf_free(&id_token);
  buf_free(&claims);
  buf_free(&found);
  return good;
}

/* ---- no answer ---- */

static const char *const what_happened[] = {
    [HTTP_RESOLVE] = "its name has no address",
    [HTTP_CONNECT] = "it could not be reached",
    [HTTP_TLS] = "its certificate could not be verified",
    [HTTP_TIMEOUT] = "it did not answer in time",
    [HTTP_EMPTY] = "the connection ended without an answer",
    [HTTP_CUT] = "the answer ended early",
    [HTTP_TOO_LARGE] = "the answer was too large",
    [HTTP_CANCELLED] = "the exchange was cancelled",
    [HTTP_LOCAL] = "the request could not be started",
};

static enum token_end no_answer(const struct http_response *r, const struct verdict *v, double wall,
                                struct err *e) {
  bool never_set = r->failure == HTTP_TLS && wall < clock_was_set;
  err_set(e, v->kind, "no token: the authorization server: %s%s%s%s%s", what_happened[r->failure],
          r->message[0] ? " (" : "", r->message, r->message[0] ? ")" : "",
          never_set ? "; the clock of this machine was never set" : "");
  return r->sent ? TOKEN_UNANSWERED : TOKEN_KEPT;
}

/* ---- a refusal ---- */

/* Said about the newest refresh token these two, and nothing else, ask for a new sign-in. */
static bool is_definite(const char *word) {
  return strcmp(word, "login_required") == 0 || strcmp(word, "invalid_grant") == 0;
}

/* A status alone never asks for one: a firewall in between answers 401 too. */
static enum kind kind_of_refusal(const struct reason *row, const struct verdict *v) {
  if (row && row->kind) return row->kind;
  return v->kind == KIND_auth ? KIND_invalid : v->kind;
}

/* The description may say more than the word: RFC 6749 has few of them. */
static const struct reason *described(const struct buf *words) {
  const struct reason *row = words->size ? reason_of(buf_text(words)) : NULL;
  return row && row->match == MATCH_PART && strcmp(row->where, "authorization") == 0 ? row : NULL;
}

static void describe(const struct http_response *r, const struct reason *row, const struct verdict *v,
                     const struct buf *word, const struct buf *words, struct err *e) {
  enum kind kind = kind_of_refusal(row, v);
  const struct reason *more = described(words);
  const char *before = row || more ? ". " : "", *doc = more ? more->doc : row ? row->doc : "";
  if (v->page)
    err_set(e, kind,
            "no token: a web page came in place of an answer (status %d): a firewall or proxy before the "
            "authorization server refused, not the account. Try it later or from another address, or set "
            "token_url",
            r->status);
  else if (word->size)
    err_set(e, kind, "no token: %s%s%.*s%s%s", buf_text(word), words->size ? ": " : "", SHOWN_DESCRIPTION,
            buf_text(words), before, doc);
  else
    err_set(e, kind, "no token: status %d", r->status);
  err_reason(e, buf_text(word));
}

/* The member as the server wrote it, without what was sent. */
static void read_words(struct bytes body, const char *name, struct bytes form, struct buf *out) {
  struct buf raw = BUF_INIT;
  if (object_text(body, name, &raw)) grant_hide(form, buf_bytes(&raw), out);
  buf_free(&raw);
}

static enum token_end refusal(const struct http_response *r, struct bytes form, const struct verdict *v,
                              struct err *e) {
  struct buf word = BUF_INIT, words = BUF_INIT;
  read_words(buf_bytes(&r->body), "error", form, &word);
  read_words(buf_bytes(&r->body), "error_description", form, &words);
  const struct reason *row = word.size ? reason_of(buf_text(&word)) : NULL;
  bool definite = is_definite(buf_text(&word));
  describe(r, row, v, &word, &words, e);
  e->retry_after = v->retry_after;
  if (row) e->outcome = row->outcome;
  buf_free(&word);
  buf_free(&words);
  return definite ? TOKEN_REFUSED : TOKEN_KEPT;
}

/* ---- the decision ---- */

static struct verdict verdict_of(const struct http_response *r, double wall) {
  struct exchange x = {
      .failure = r->failure, .status = r->status, .sent = r->sent, .write = true, .wall = wall};
  x.headers = buf_bytes(&r->headers);
  struct verdict v = outcome_judge(&x); /* without the text: its rows are about vehicles */
  v.page = outcome_page(buf_bytes(&r->body), x.headers);
  double wait = retry_after(x.headers, buf_bytes(&r->body), wall);
  if (r->failure == HTTP_OK && wait >= 0) v.retry_after = wait;
  return v;
}

static enum token_end read_failure(const struct http_response *r, const struct verdict *v, struct bytes form,
                                   double wall, struct err *e) {
  if (r->failure != HTTP_OK) return no_answer(r, v, wall, e);
  if (v->kind != KIND_none) return refusal(r, form, v, e);
  err_set(e, KIND_protocol, "no token: the server's reply cannot be read");
  return TOKEN_UNANSWERED;
}

/* What looks like a token is no word of a sentence. */
static void hide_tokens(struct err *e) {
  struct buf message = BUF_INIT, reason = BUF_INIT;
  redact(&message, bytes_of(e->message), NULL, 0);
  redact(&reason, bytes_of(e->reason), NULL, 0);
  err_set(e, e->kind, "%s", buf_ok(&message) ? buf_text(&message) : "no token");
  err_reason(e, buf_ok(&reason) ? buf_text(&reason) : "");
  buf_free(&message);
  buf_free(&reason);
}

enum token_end reply_read(const struct http_response *r, const struct token_sent *sent, double wall,
                          struct token *t, double *lifetime, struct err *e) {
  struct verdict v = verdict_of(r, wall);
  enum token_end end = TOKEN_ISSUED;
  bool answered = r->failure == HTTP_OK && v.kind == KIND_none;
  if (!answered || !read_pair(buf_bytes(&r->body), t, lifetime))
    end = read_failure(r, &v, sent->form, wall, e);
  else if (!is_our_sign_in(buf_bytes(&r->body), sent->nonce, e))
    end = TOKEN_KEPT;
  if (end == TOKEN_ISSUED) return end;
  hide_tokens(e);
  token_free(t);
  e->status = r->status;
  if (!e->outcome) e->outcome = v.outcome ? v.outcome : end == TOKEN_KEPT ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
  return end;
}
