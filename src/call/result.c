#include "call/result.h"

#include "base/reason.h"
#include "base/text.h"
#include "call/arguments.h"
#include "call/failure.h"
#include "call/value.h"

#include <stdio.h>
#include <string.h>

struct reader {
  const struct asked *asked;
  struct arena *a;
  struct err *e;
};

/* ---- members of a decoded body ---- */

/* A member that is a text with something in it, or NULL. */
static const char *text_member(const struct reader *r, const struct node *object, const char *name) {
  const struct node *member = node_member(object, name);
  const struct node *text = node_is(member, NODE_TEXT) ? node_text_copy(r->a, member->text) : NULL;
  return text && text->text.data && *text->text.data ? (const char *)text->text.data : NULL;
}

/* The reason of { result, reason }; proxies of before 2025-03 call it `string`. NULL: none. */
static const char *reason_member(const struct reader *r, const struct node *object) {
  const char *reason = text_member(r, object, "reason");
  return reason ? reason : text_member(r, object, "string");
}

static bool is_false(const struct node *value) {
  return node_is(value, NODE_BOOLEAN) && !value->boolean;
}

static struct error_body error_body_of(const struct reader *r, const struct node *body) {
  const struct node *response = node_member(body, "response");
  return (struct error_body){.error = text_member(r, body, "error"),
                             .description = text_member(r, body, "error_description"),
                             .reason = reason_member(r, response),
                             .refused = is_false(node_member(response, "result"))};
}

struct bytes result_error_text(struct arena *a, struct bytes body) {
  const struct node *error = node_member(json_read(a, body, NULL), "error");
  return node_is(error, NODE_TEXT) && error->text.size ? error->text : body;
}

/* ---- a good reply ---- */

static struct node *fail_unexpected(const struct reader *r, const char *what) {
  r->e->outcome = row_is_write(r->asked->row) ? OUTCOME_UNKNOWN : OUTCOME_NONE;
  err_set(r->e, KIND_protocol, "%s: the reply %s", r->asked->name, what);
  return NULL;
}

static bool check_reason(const struct reader *r, const char *reason) {
  return judge_reason(r->e, r->asked->row, r->asked->strict, reason);
}

static struct node *bytes_result(const struct reader *r, const struct node *base64) {
  struct buf bytes = BUF_INIT;
  bool good = base64->type == NODE_TEXT && buf_unbase64(&bytes, base64->text);
  struct node *value = good ? node_text_copy(r->a, buf_bytes(&bytes)) : NULL;
  r->a->failed |= bytes.failed;
  buf_free(&bytes);
  return good ? value : fail_unexpected(r, "is not base64");
}

/* Makes of the answer { changed, reason, via, authenticated } and its further members. */
static struct node *finish_command(const struct reader *r, struct node *answer, bool changed,
                                   const char *reason) {
  node_put(answer, "reason", node_text(r->a, reason_words(bytes_of(reason))));
  node_put(answer, "result", node_new(r->a, NODE_NIL));
  node_put(answer, "string", node_new(r->a, NODE_NIL));
  node_put(answer, "changed", node_boolean(r->a, changed));
  node_put(answer, "via", node_text(r->a, bytes_of("plain")));
  node_put(answer, "authenticated", node_boolean(r->a, false));
  return answer;
}

/* Turns { result, reason, ... } into { changed, reason, via, authenticated, ... }: only result = true counts
 * as done (doc/protocol.md#outcomes). error: of the body around it, or NULL. */
static struct node *command_result(const struct reader *r, struct node *answer, const char *error) {
  const struct node *done = node_member(answer, "result");
  if (!node_is(done, NODE_BOOLEAN)) return fail_unexpected(r, "does not say whether the command was done");
  if (done->boolean && error) return fail_unexpected(r, "says both done and an error");
  const char *given = reason_member(r, answer), *reason = given ? given : error ? error : "";
  if (!done->boolean && !check_reason(r, reason)) return NULL;
  return finish_command(r, answer, done->boolean, reason);
}

/* The value of a member: under name, or under other where the service wrote only that. */
static const struct node *either(const struct node *object, const char *name, const char *other) {
  const struct node *member = node_member(object, name);
  return member ? member : node_member(object, other);
}

static double three_digits(struct bytes text) {
  double number = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.size != 3 || text.data[i] < '0' || text.data[i] > '9') return 0;
    number = number * 10 + (text.data[i] - '0');
  }
  return number;
}

/* The member of this name as a number, also where it is text; 0: there is none. */
static int code_of(const struct node *object, const char *name) {
  const struct node *member = node_member(object, name);
  double code = node_is(member, NODE_TEXT) ? three_digits(member->text) : 0;
  node_as_number(member, &code);
  return code >= 100 && code <= 999 ? (int)code : 0;
}

/* Energy settings answer { code, message } or { result, reason } (doc/protocol.md#energy-settings). The
 * setting counts as accepted only with a code of success or `result`; a string, true or {} proves nothing. */
static struct node *setting_result(const struct reader *r, struct node *answer) {
  int small = code_of(answer, "code"), large = code_of(answer, "Code"), code = small ? small : large;
  if (small && large && small != large) return fail_unexpected(r, "has two codes that differ");
  static const char *const spellings[][2] = {{"code", "Code"}, {"message", "Message"}};
  for (int i = 0; i < 2; i++) {
    const struct node *member = either(answer, spellings[i][0], spellings[i][1]);
    if (member) node_put(answer, spellings[i][0], node_copy(r->a, member));
  }
  const char *message = text_member(r, answer, "message"), *error = text_member(r, answer, "error"),
             *reason = reason_member(r, answer);
  if (code >= 400) {
    refused_setting(r->e, r->asked->row, code, message ? message : error ? error : "");
    return NULL;
  }
  const struct node *done = node_member(answer, "result");
  bool changed = node_is(done, NODE_BOOLEAN) ? done->boolean : code / 100 == 2;
  if (is_false(done) || error) {
    if (!check_reason(r, error ? error : reason ? reason : "")) return NULL;
    changed = false;
  } else if (!changed) {
    return fail_unexpected(r, "does not say whether the setting was taken");
  }
  node_put(answer, "changed", node_boolean(r->a, changed));
  return answer;
}

enum { LAST_KNOWN_SUCCESS = 204 }; /* above it, the meaning of an `error` in a 2xx is not published */

static struct node *fail_with_error(const struct reader *r, const struct error_body *s, int status,
                                    bool both) {
  const struct reason *known = reason_of(s->error);
  bool has_kind = known && known->kind;
  err_reason(r->e, s->error);
  r->e->outcome = !row_is_write(r->asked->row)   ? OUTCOME_NONE
                  : both                         ? OUTCOME_UNKNOWN
                  : has_kind                     ? known->outcome
                  : status <= LAST_KNOWN_SUCCESS ? OUTCOME_REFUSED
                                                 : OUTCOME_UNKNOWN;
  err_set(r->e, has_kind ? known->kind : KIND_service, "%s: %s%s%s", r->asked->name, s->error,
          s->description ? ": " : "", s->description ? s->description : "");
  return NULL;
}

/* false in the place of a record: the write did not succeed. */
static bool is_refusal(const struct node *value) {
  return is_false(value) || (node_is(value, NODE_TEXT) && bytes_equal(value->text, bytes_of("false")));
}

/* The body as it came. */
static struct node *raw_result(const struct reader *r, const struct buf *body) {
  const char *begins = r->asked->raw ? NULL : r->asked->row->begins;
  char shown[96];
  if (!begins || (body->size >= strlen(begins) && memcmp(buf_text(body), begins, strlen(begins)) == 0))
    return node_text(r->a, buf_bytes(body));
  snprintf(shown, sizeof shown, body->size ? "does not begin with %s" : "is empty", begins);
  return fail_unexpected(r, shown);
}

/* The value of a 2xx; NULL: e says why there is none. */
static struct node *good_result(const struct reader *r, const struct http_response *reply) {
  const struct row *row = r->asked->row;
  bool is_command = row->flags & ROW_COMMAND;
  char what[64];
  if (row->value & VALUE_BYTES || r->asked->raw) return raw_result(r, &reply->body);
  struct node *body = json_read(r->a, buf_bytes(&reply->body), NULL);
  if (!body) return fail_unexpected(r, reply->body.size ? "is not JSON" : "is empty");
  const struct node *response = node_member(body, "response");
  struct error_body s = error_body_of(r, body);
  if (s.error && (!response || !is_command))
    return fail_with_error(r, &s, reply->status, node_is_table(response));
  struct node *value = take_value(r->a, row, body, what);
  if (!value) return r->a->failed ? NULL : fail_unexpected(r, what);
  if (row_is_write(row) && is_refusal(value)) {
    check_reason(r, "");
    return NULL;
  }
  if (row->value & VALUE_BASE64) return bytes_result(r, value);
  if (is_command) return command_result(r, value, s.error);
  return row->flags & ROW_SETTING ? setting_result(r, value) : value;
}

/* ---- a failure ---- */

/* The error text of a failure, decoded; of a body that is not JSON, all of it. */
static struct error_body read_failure(const struct reader *r, struct exchange *x) {
  const struct node *body = x->failure == HTTP_OK ? json_read(r->a, x->text, NULL) : NULL;
  struct error_body s = {NULL, NULL, NULL, false};
  x->words = x->text;
  if (!body) return s;
  s = error_body_of(r, body);
  const char *words = s.error ? s.error : s.reason;
  x->words = bytes_of(words ? words : "");
  x->details = bytes_of(s.description ? s.description : "");
  return s;
}

static void failed_result(const struct reader *r, const struct http_response *reply,
                          const struct error_body *s, const struct verdict *v) {
  struct err *e = r->e;
  e->kind = v->kind;
  e->outcome = v->outcome;
  e->status = reply->status;
  e->retry_after = v->retry_after;
  struct verdict shown = *v;
  bool of_site = strcmp(r->asked->row->handle, "site") == 0; /* a site cannot be woken */
  if (of_site && v->row && v->row->advice && strstr(v->row->advice, "vehicle")) shown.row = NULL;
  compose_failure(e, r->asked->name, reply, s, &shown);
}

/* A signing proxy may state the vehicle's answer to a command beside any status. */
static bool is_vehicle_answer(const struct asked *asked, int status, const struct error_body *s) {
  if (!asked->proxied || status / 100 != 5 || !(asked->row->flags & ROW_COMMAND)) return false;
  return s->refused || (s->error && reason_of_vehicle(bytes_of(s->error)));
}

/* The result of a command that the vehicle itself refused. */
static struct node *vehicle_answer(const struct reader *r, const struct error_body *s) {
  const char *reason = s->reason ? s->reason : s->error ? s->error : "";
  struct node *answer = node_new(r->a, NODE_OBJECT);
  return answer && check_reason(r, reason) ? finish_command(r, answer, false, reason) : NULL;
}

/* The vehicle refused a plain command because it takes signed ones only. */
static bool wants_signature(const struct asked *asked, const struct err *e) {
  return asked->row->flags & ROW_COMMAND && !asked->proxied && e->outcome == OUTCOME_REFUSED &&
         text_after(bytes_of(e->reason), "unsigned_cmds_hardlocked").data;
}

bool result_read(const struct asked *asked, const struct http_response *reply, struct arena *a,
                 struct result *out) {
  struct err *e = &out->err;
  struct reader r = {asked, a, e};
  struct exchange x = {.failure = reply->failure,
                       .status = reply->status,
                       .sent = reply->sent,
                       .proxied = asked->proxied,
                       .write = row_is_write(asked->row),
                       .text = buf_bytes(&reply->body),
                       .headers = buf_bytes(&reply->headers),
                       .state = asked->state,
                       .wall = asked->wall};
  struct error_body s = {NULL, NULL, NULL, false};
  err_clear(e);
  if (reply->failure != HTTP_OK || reply->status / 100 != 2) s = read_failure(&r, &x);
  bool answered = is_vehicle_answer(asked, reply->status, &s);
  struct verdict v = {.kind = KIND_none};
  if (!answered) v = outcome_judge(&x);
  out->value = NULL;
  if (answered)
    out->value = vehicle_answer(&r, &s);
  else if (v.kind == KIND_none)
    out->value = good_result(&r, reply);
  else
    failed_result(&r, reply, &s, &v);
  if (a->failed) { /* perhaps a text is missing that decides */
    v = (struct verdict){.kind = KIND_protocol};
    fail_unexpected(&r, "cannot be read: out of memory");
    out->value = NULL;
  }
  if (out->value) return true;
  e->status = reply->status;
  out->transient = v.transient;
  out->trait = v.row ? v.row->trait : wants_signature(asked, e) ? TRAIT_SIGN : TRAIT_NONE;
  return false;
}
