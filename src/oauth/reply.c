#include "oauth/reply.h"

#include "base/reason.h"
#include "base/redact.h"
#include "http/outcome.h"
#include "http/retry_after.h"
#include "oauth/grant.h"
#include "base/json_object.h"

#include <string.h>

enum { SHOWN_DESCRIPTION = 200, LONGEST_LIFE = 3650 * 86400 };
static const double clock_was_set = 1672531200; /* start of 2023: a clock that is earlier was never set */

/* ---- a good reply ---- */

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

static bool read_pair(struct bytes body, struct token *t, double *lifetime) {
  double seconds = object_number(body, "expires_in");
  *lifetime = seconds > 0 && seconds <= LONGEST_LIFE ? seconds : 0;
  object_text(body, "refresh_token", &t->refresh);
  object_text(body, "scope", &t->scope);
  return object_whole(body) && object_text(body, "access_token", &t->access) && token_access_good(&t->access);
}

/* An attacker may have injected a code of another sign-in: then the nonce of its id_token differs or is
 * missing. */
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

/* ---- no reply ---- */

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

/* Only these two errors mean that a new sign-in is needed. */
static bool is_definite(const char *word) {
  return strcmp(word, "login_required") == 0 || strcmp(word, "invalid_grant") == 0;
}

/* A status without such an error may come from a firewall: it is never KIND_auth, which asks for a
 * sign-in. */
static enum kind kind_of_refusal(const struct reason *row, const struct verdict *v) {
  if (row && row->kind) return row->kind;
  return v->kind == KIND_auth ? KIND_invalid : v->kind;
}

/* RFC 6749 has few error words: the description may name the reason more precisely. */
static const struct reason *reason_described(const struct buf *words) {
  const struct reason *row = words->size ? reason_of(buf_text(words)) : NULL;
  return row && row->match == MATCH_PART && strcmp(row->where, "authorization") == 0 ? row : NULL;
}

static void describe(const struct http_response *r, const struct reason *row, const struct verdict *v,
                     const struct buf *word, const struct buf *words, struct err *e) {
  enum kind kind = kind_of_refusal(row, v);
  const struct reason *more = reason_described(words);
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

/* A member of the reply without the secrets that were sent: servers repeat them. */
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
  /* 1. The general verdict on a reply. Its body is left out, because those rows are about vehicles. */
  struct bytes body = buf_bytes(&r->body), headers = buf_bytes(&r->headers);
  struct exchange x = {.failure = r->failure,
                       .status = r->status,
                       .sent = r->sent,
                       .write = true,
                       .wall = wall,
                       .headers = headers};
  struct verdict v = outcome_judge(&x);
  v.page = outcome_page(body, headers);
  double wait = retry_after(headers, body, wall);
  if (r->failure == HTTP_OK && wait >= 0) v.retry_after = wait;

  /* 2. A pair, or why there is none. */
  enum token_end end = TOKEN_ISSUED;
  if (r->failure != HTTP_OK) {
    end = no_answer(r, &v, wall, e);
  } else if (v.kind != KIND_none) {
    end = refusal(r, sent->form, &v, e);
  } else if (!read_pair(body, t, lifetime)) {
    err_set(e, KIND_protocol, "no token: the server's reply cannot be read");
    end = TOKEN_UNANSWERED;
  } else if (!is_our_sign_in(body, sent->nonce, e)) {
    end = TOKEN_KEPT;
  }
  if (end == TOKEN_ISSUED) return end;

  /* 3. A failure leaves no token behind, in t or in the message. */
  hide_tokens(e);
  token_free(t);
  e->status = r->status;
  if (!e->outcome) e->outcome = v.outcome ? v.outcome : end == TOKEN_KEPT ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
  return end;
}
