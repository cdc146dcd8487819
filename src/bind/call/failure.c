#include "bind/call/failure.h"

#include "base/reason.h"
#include "http/outcome.h"

#include <stdio.h>
#include <string.h>

const char *string_field(lua_State *L, int table, const char *name) {
  const char *text = NULL;
  if (lua_getfield(L, table, name) == LUA_TSTRING) text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text && *text ? text : NULL;
}

const char *reason_member(lua_State *L, int table) {
  const char *reason = string_field(L, table, "reason");
  return reason ? reason : string_field(L, table, "string");
}

struct error_body read_error_body(lua_State *L, int body) {
  struct error_body s = {NULL, NULL, NULL, false};
  if (lua_type(L, body) != LUA_TTABLE) return s;
  s.error = string_field(L, body, "error");
  s.description = string_field(L, body, "error_description");
  if (lua_getfield(L, body, "response") == LUA_TTABLE) {
    s.reason = reason_member(L, lua_gettop(L));
    s.refused = lua_getfield(L, -1, "result") == LUA_TBOOLEAN && !lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return s;
}

static const char *failure_sentence(const struct http_response *r) {
  return r->message[0] ? r->message : failure_name(r->failure);
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

/* What a person can do: a part of the same sentence, which rows of statuses write in small letters and
 * without a stop, or the sentence of a fault or a reason. */
static void advise(struct err *e, const char *advice, bool sentence) {
  size_t size = strlen(e->message);
  while (size && (e->message[size - 1] == '.' || e->message[size - 1] == ' ')) size--;
  snprintf(e->message + size, sizeof e->message - size, "%s%s", sentence ? ". " : "; ", advice);
}

/* What the reply says of itself, or what is known of it. */
static const char *reply_text(const struct http_response *r, const struct error_body *s, const char *plain,
                              const struct verdict *v) {
  if (s->error || s->reason) return s->error ? s->error : s->reason;
  if (*plain) return plain;
  if (v->page) return "a web page came in place of an answer";
  return r->status / 100 == 2 ? "the reply is not a whole one" : kind_name(v->kind);
}

/* A page in the place of a refusal was written by an intermediary. */
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
