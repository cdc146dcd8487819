#include "oauth/callback.h"

#include "base/reason.h"
#include "oauth/form.h"

#include <string.h>
#include <strings.h>

enum { SHOWN_ERROR = 100, SHOWN_DESCRIPTION = 200 };

/* ---- the address ---- */

static bool is_space(unsigned char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct bytes trim(struct bytes text) {
  while (text.size && is_space(*text.data)) text.data++, text.size--;
  while (text.size && is_space(text.data[text.size - 1])) text.size--;
  return text;
}

static bool is_unreserved(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c && strchr("-._~", c));
}

static bool is_bare_code(struct bytes text) {
  for (size_t i = 0; i < text.size; i++)
    if (!is_unreserved(text.data[i])) return false;
  return text.size > 0;
}

static struct bytes query_of(struct bytes text) {
  const unsigned char *fragment = text.size ? memchr(text.data, '#', text.size) : NULL;
  if (fragment) text.size = (size_t)(fragment - text.data);
  const unsigned char *mark = text.size ? memchr(text.data, '?', text.size) : NULL;
  if (!mark) return text;
  return (struct bytes){mark + 1, text.size - (size_t)(mark + 1 - text.data)};
}

/* ---- fields ---- */

enum { CODE, STATE, ERROR, DESCRIPTION, ISSUER, ISS, FIELDS };
static const char *const names[FIELDS] = {"code", "state", "error", "error_description", "issuer", "iss"};

struct fields {
  struct buf value[FIELDS];
  bool given[FIELDS];
};

static bool read_fields(struct fields *f, struct bytes query, struct err *e) {
  for (int i = 0; i < FIELDS; i++) {
    f->given[i] = form_field(query, names[i], &f->value[i], e);
    if (e->kind) err_reason(e, "malformed");
    if (e->kind) return false;
  }
  return true;
}

static void free_fields(struct fields *f) {
  for (int i = 0; i < FIELDS; i++) buf_free(&f->value[i]);
}

static void refuse(struct err *e, const char *reason, const char *message) {
  err_set(e, KIND_auth, "the sign-in cannot be accepted: %s", message);
  err_reason(e, reason);
}

static bool is_ours(const struct fields *f, struct bytes state, struct err *e) {
  if (!f->given[STATE])
    refuse(e, "state_missing", "the address carries no state; paste the whole address, or the code alone");
  else if (!state.size || !bytes_equal_secret(buf_bytes(&f->value[STATE]), state))
    refuse(e, "state_mismatch", "it belongs to another sign-in: open the newest authorize address");
  return !e->kind;
}

/* ---- the issuer ---- */

/* Scheme and authority of an address; size 0: it has none. */
static struct bytes origin_of(struct bytes address) {
  struct bytes none = {NULL, 0};
  size_t at = 0;
  while (at < address.size && ((address.data[at] | 32) >= 'a' && (address.data[at] | 32) <= 'z')) at++;
  if (!at || address.size < at + 3 || memcmp(address.data + at, "://", 3) != 0) return none;
  size_t end = at + 3;
  while (end < address.size && address.data[end] && !strchr("/?#", address.data[end])) end++;
  return end > at + 3 ? (struct bytes){address.data, end} : none;
}

static bool same_origin(struct bytes issuer, const char *address) {
  struct bytes a = origin_of(issuer), b = origin_of(bytes_of(address));
  return a.size && a.size == b.size && strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

static bool issuer_is_ours(const struct fields *f, int name, const struct callback_expected *x) {
  struct bytes issuer = buf_bytes(&f->value[name]);
  return !f->given[name] || same_origin(issuer, x->auth_url) || same_origin(issuer, x->token_url);
}

/* ---- the answer ---- */

static void refused_by_server(const struct fields *f, struct err *e) {
  const char *word = buf_text(&f->value[ERROR]), *words = buf_text(&f->value[DESCRIPTION]);
  const struct reason *row = reason_of(word);
  err_set(e, row && row->kind ? row->kind : KIND_auth, "the sign-in was refused: %.*s%s%.*s%s%s", SHOWN_ERROR,
          word, *words ? ": " : "", SHOWN_DESCRIPTION, words, row ? ". " : "", row ? row->doc : "");
  err_reason(e, word);
}

static enum callback_end read_answer(const struct fields *f, const struct callback_expected *x,
                                     struct buf *code, struct err *e) {
  if (!issuer_is_ours(f, ISSUER, x) || !issuer_is_ours(f, ISS, x)) {
    refuse(e, "issuer", "it was issued by another server");
  } else if (f->given[ERROR]) {
    refused_by_server(f, e);
  } else if (!f->value[CODE].size) {
    refuse(e, "code_missing", "the address carries no code");
  } else {
    buf_add(code, f->value[CODE].data, f->value[CODE].size);
    return CALLBACK_CODE;
  }
  return CALLBACK_REFUSED;
}

static enum callback_end read_query(struct bytes query, const struct callback_expected *x, struct buf *code,
                                    struct err *e) {
  struct fields f = {0};
  enum callback_end end = CALLBACK_FOREIGN;
  if (read_fields(&f, query, e) && is_ours(&f, x->state, e)) end = read_answer(&f, x, code, e);
  free_fields(&f);
  return end;
}

enum callback_end callback_read(struct bytes text, const struct callback_expected *x, struct buf *code,
                                struct err *e) {
  text = trim(text);
  enum callback_end end = CALLBACK_CODE;
  if (is_bare_code(text))
    buf_add(code, text.data, text.size);
  else
    end = read_query(query_of(text), x, code, e);
  if (end == CALLBACK_CODE && !buf_ok(code)) end = CALLBACK_REFUSED, err_out_of_memory(e);
  e->outcome = end == CALLBACK_CODE ? OUTCOME_NONE : OUTCOME_NOT_SENT;
  return end;
}
