#include "call/failure.h"

#include "base/reason.h"

#include <stdio.h>
#include <string.h>

const char *const failure_names[FAILURE_COUNT] = {
#define X(NAME, name) #name,
    HTTP_FAILURES(X)
#undef X
};

static const char *failure_sentence(const struct http_response *r) {
  return r->message[0] ? r->message : failure_names[r->failure];
}

/* The text of a reply that is not JSON, cut to what a person can read. */
static void plain_words(char *out, size_t size, const struct buf *body) {
  size_t n = 0;
  for (size_t i = 0; i < body->size && n + 1 < size && n < 120; i++) {
    unsigned char c = body->data[i];
    bool blank = c <= 0x20 || c >= 0x7F;
    if (c == '<') break;
    if (!blank || (n && out[n - 1] != ' ')) out[n++] = blank ? ' ' : (char)c;
  }
  if (n && out[n - 1] == ' ') n--;
  out[n] = '\0';
}

/* Appends advice: a sentence of a fault or a reason, or a clause of a status row. */
static void advise(struct err *e, const char *advice, bool sentence) {
  size_t size = strlen(e->message);
  while (size && (e->message[size - 1] == '.' || e->message[size - 1] == ' ')) size--;
  snprintf(e->message + size, sizeof e->message - size, "%s%s", sentence ? ". " : "; ", advice);
}

/* The error text of the reply, else a description of it. */
static const char *reply_text(const struct http_response *r, const struct error_body *s, const char *plain,
                              const struct verdict *v) {
  if (s->error || s->reason) return s->error ? s->error : s->reason;
  if (*plain) return plain;
  if (v->page) return "a web page came in place of an answer";
  return r->status / 100 == 2 ? "the reply is not a whole one" : kind_name(v->kind);
}

/* A web page with a 4xx status comes from a firewall or proxy. */
static const char *advice_of(const struct http_response *r, const struct verdict *v) {
  if (v->fault.found)
    return v->fault.row ? v->fault.row->doc : "The vehicle gave a fault that is not known here.";
  if (v->reason) return v->reason->doc;
  if (v->page && r->status / 100 == 4)
    return "a firewall or proxy before the service refused, not the service";
  return v->row ? v->row->advice : NULL;
}

void compose_failure(struct err *e, const char *name, const struct http_response *r,
                     const struct error_body *s, const struct verdict *v) {
  char plain[128] = "", status[24] = "";
  if (r->status) snprintf(status, sizeof status, " (HTTP %d)", r->status);
  if (r->failure == HTTP_OK) plain_words(plain, sizeof plain, &r->body);
  const char *text = r->failure == HTTP_OK ? reply_text(r, s, plain, v) : failure_sentence(r);
  bool described = s->description && strcmp(text, s->description) != 0;
  err_set(e, e->kind, "%s: %s%s%s%s", name, text, status, described ? ": " : "",
          described ? s->description : "");
  const char *advice = advice_of(r, v);
  if (advice) advise(e, advice, v->fault.found || v->reason);
  e->fault = v->fault.number;
  if (v->fault.row)
    err_reason(e, v->fault.row->name);
  else
    reason_set(e, bytes_of(s->error ? s->error : s->reason ? s->reason : plain));
}

/* ---- refusals in good replies ---- */

/* A reason means that the wanted state was already set (success without a change), or explains the refusal. A
 * signing proxy may give a fault of the protocol as the reason. */
bool judge_reason(struct err *e, const struct row *row, bool strict, const char *text) {
  const struct reason *known = reason_of(text);
  char doc[REASON_DOC] = "";
  if (known && known->kind == KIND_none && !strict) return true;
  struct fault_word fault = {false, 0, NULL};
  if (!known) fault = fault_in(bytes_of(text));
  enum kind kind = KIND_refused;
  e->outcome = OUTCOME_REFUSED;
  if (known) reason_doc(doc, known, row);
  if (known && known->kind != KIND_none) kind = known->kind, e->outcome = known->outcome;
  if (fault.row) kind = fault.row->kind, e->outcome = fault.row->outcome;
  if (fault.found && !fault.row) kind = KIND_protocol, e->outcome = OUTCOME_UNKNOWN;
  e->fault = fault.number;
  const char *sentence = fault.row && fault.row->doc ? fault.row->doc : doc;
  reason_set(e, bytes_of(fault.row ? fault.row->name : text));
  return err_set(e, kind, "%s: refused: %s%s%s", row->name, *text ? e->reason : "no reason given",
                 *sentence ? ". " : "", sentence);
}

/* An error code is judged like the HTTP status of that number, unless the reason in the text is known. */
bool refused_setting(struct err *e, const struct row *row, int code, const char *text) {
  struct exchange x = {.failure = HTTP_OK, .status = code, .sent = true, .write = true};
  x.text = x.words = bytes_of(text);
  struct verdict v = outcome_judge(&x);
  const struct reason *known = reason_of(text);
  bool says_why = known && known->kind != KIND_none;
  char doc[REASON_DOC] = "";
  if (says_why) reason_doc(doc, known, row);
  reason_set(e, bytes_of(text));
  e->outcome = says_why ? known->outcome : v.outcome;
  return err_set(e, says_why ? known->kind : v.kind, "%s: the site answered %d%s%s%s%s", row->name, code,
                 *text ? ": " : "", text, *doc ? ". " : "", doc);
}
