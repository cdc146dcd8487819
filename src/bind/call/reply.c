#include "bind/call/reply.h"

#include "base/reason.h"
#include "bind/lua/json.h"
#include "bind/call/request.h"
#include "http/outcome.h"

#include <stdio.h>
#include <string.h>

/* ---- the reply box ---- */

static void release_reply(void *object) {
  struct reply *r = object;
  if (r->transfer) {
    shared_http_drop(r->shared, r->transfer);
  } else {
    buf_free(&r->own.headers);
    buf_free(&r->own.body);
  }
}

static const char *const failure_names[] = {
#define X(NAME, name) #name,
    HTTP_FAILURES(X)
#undef X
};
enum { FAILURES = sizeof failure_names / sizeof *failure_names };

static struct reply *check_reply(lua_State *L, int index) {
  return box_check(L, index, &reply_type);
}

static int l_status(lua_State *L) {
  lua_pushinteger(L, check_reply(L, 1)->response->status);
  return 1;
}

static int l_body(lua_State *L) {
  push_buf(L, &check_reply(L, 1)->response->body);
  return 1;
}

static int l_headers(lua_State *L) {
  push_buf(L, &check_reply(L, 1)->response->headers);
  return 1;
}

/* reply:failure() -> name ("ok" when a whole reply arrived), libcurl's sentence */
static int l_failure(lua_State *L) {
  const struct http_response *r = check_reply(L, 1)->response;
  lua_pushstring(L, failure_names[r->failure]);
  lua_pushstring(L, r->message);
  return 2;
}

static int l_sent(lua_State *L) {
  lua_pushboolean(L, check_reply(L, 1)->response->sent);
  return 1;
}

static int l_seconds(lua_State *L) {
  lua_pushnumber(L, check_reply(L, 1)->response->seconds);
  return 1;
}

/* reply:header(name) -> value or nil; name in lower case */
static int l_header(lua_State *L) {
  const struct http_response *r = check_reply(L, 1)->response;
  size_t size;
  const char *name = luaL_checklstring(L, 2, &size);
  for (const char *at = buf_text(&r->headers); *at; at += strcspn(at, "\n"), at += *at == '\n') {
    if (strncmp(at, name, size) != 0 || at[size] != ':') continue;
    const char *value = at + size + 1 + strspn(at + size + 1, " ");
    lua_pushlstring(L, value, strcspn(value, "\n"));
    return 1;
  }
  return 0;
}

static const luaL_Reg reply_methods[] = {{"status", l_status},   {"body", l_body}, {"headers", l_headers},
                                         {"failure", l_failure}, {"sent", l_sent}, {"seconds", l_seconds},
                                         {"header", l_header},   {NULL, NULL}};
const struct box_type reply_type = {"fleet.reply", release_reply, reply_methods, NULL};

/* ---- a reply that a host's own HTTP hands in ---- */

static enum http_failure failure_named(lua_State *L, const char *name) {
  for (int i = 0; i < FAILURES; i++)
    if (strcmp(failure_names[i], name) == 0) return (enum http_failure)i;
  return (enum http_failure)raise_unknown(L, "failure", name, failure_names, FAILURES);
}

static void header_line(struct buf *out, struct bytes name, struct bytes value) {
  for (size_t i = 0; i < name.size; i++)
    buf_put(out,
            name.data[i] >= 'A' && name.data[i] <= 'Z' ? (unsigned char)(name.data[i] + 32) : name.data[i]);
  buf_text_add(out, ": ");
  buf_add(out, value.data, value.size);
  buf_put(out, '\n');
}

/* Headers arrive as a map name -> value. */
static void take_headers(lua_State *L, int index, struct buf *out) {
  if (lua_getfield(L, index, "headers") == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
      if (lua_type(L, -2) == LUA_TSTRING) header_line(out, check_bytes(L, -2), check_bytes(L, -1));
  lua_pop(L, 1);
}

/* core.reply{ status =, headers = { name = value }, body =, failure =, message =, sent = } */
static int l_reply(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  struct reply *r = box_new(L, &reply_type, sizeof *r, 0);
  r->response = &r->own;
  box_open(L, -1);
  lua_getfield(L, 1, "status");
  r->own.status = (int)luaL_optinteger(L, -1, 0);
  lua_getfield(L, 1, "failure");
  r->own.failure = failure_named(L, luaL_optstring(L, -1, "ok"));
  lua_getfield(L, 1, "message");
  strncat(r->own.message, luaL_optstring(L, -1, ""), sizeof r->own.message - 1);
  lua_getfield(L, 1, "sent");
  r->own.sent = lua_isnil(L, -1) || lua_toboolean(L, -1);
  if (lua_getfield(L, 1, "body") != LUA_TNIL) {
    struct bytes body = check_bytes(L, -1);
    buf_add(&r->own.body, body.data, body.size);
  }
  take_headers(L, 1, &r->own.headers);
  lua_settop(L, 2);
  return 1;
}

/* ---- what the service says about a failure ---- */

struct said { /* the words of an error body; they point into strings of the decoded table, which stays on the
                 stack */
  const char *error, *description, *reason;
};

static const char *word(lua_State *L, int table, const char *name) {
  const char *text = NULL;
  if (lua_getfield(L, table, name) == LUA_TSTRING) text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text && *text ? text : NULL;
}

static struct said read_said(lua_State *L, int body) {
  struct said s = {NULL, NULL, NULL};
  if (lua_type(L, body) != LUA_TTABLE) return s;
  s.error = word(L, body, "error");
  s.description = word(L, body, "error_description");
  if (lua_getfield(L, body, "response") == LUA_TTABLE) s.reason = word(L, lua_gettop(L), "reason");
  lua_pop(L, 1);
  return s;
}

static const char *failure_sentence(const struct http_response *r) {
  return r->message[0] ? r->message : failure_names[r->failure];
}

/* The text of a reply that is not JSON, cut to what a person can read. */
static void plain_words(char *out, size_t size, const struct buf *body) {
  size_t n = 0;
  for (size_t i = 0; i < body->size && n + 1 < size && n < 120; i++) {
    unsigned char c = body->data[i];
    if (c == '<') break;
    out[n++] = (char)(c < 0x20 || c >= 0x7F ? ' ' : c);
  }
  out[n] = '\0';
}

/* What a person can do follows as a part of the same sentence: rows write it in small letters and without a
 * stop. */
static void advise(struct err *e, const char *advice) {
  size_t size = strlen(e->message);
  while (size && (e->message[size - 1] == '.' || e->message[size - 1] == ' ')) size--;
  snprintf(e->message + size, sizeof e->message - size, "; %s", advice);
}

static void compose(struct err *e, const char *name, const struct http_response *r, const struct said *s,
                    const char *advice) {
  char plain[128];
  plain_words(plain, sizeof plain, &r->body);
  const char *text = s->error ? s->error : s->reason ? s->reason : plain;
  bool described = s->description && strcmp(text, s->description) != 0;
  if (r->status)
    err_set(e, e->kind, "%s: %s (HTTP %d)%s%s", name, *text ? text : kind_name(e->kind), r->status,
            described ? ": " : "", described ? s->description : "");
  else
    err_set(e, e->kind, "%s: %s", name, failure_sentence(r));
  if (advice) advise(e, advice);
  err_reason(e, text);
}

/* ---- shapes of a good reply ---- */

static bool not_what_is_promised(struct err *e, const struct request *request, const char *what) {
  e->outcome = request_is_write(request) ? OUTCOME_UNKNOWN : OUTCOME_NONE;
  return err_set(e, KIND_protocol, "%s: the reply %s", request_name(request), what);
}

/* Replaces base64 text at the top by the bytes it stands for. */
static bool bytes_result(lua_State *L, const struct request *request, struct err *e) {
  struct buf *bytes = push_scratch(L);
  bool good = lua_type(L, -2) == LUA_TSTRING && buf_unbase64(bytes, check_bytes(L, -2));
  if (good) push_buf(L, bytes);
  box_close(L, good ? -2 : -1);
  return good || not_what_is_promised(e, request, "is not base64");
}

/* A reason says either that the wanted state already holds (an ok without a change) or why nothing was done.
 */
static bool judge_reason(struct err *e, const struct request *request, const char *text) {
  const struct reason *known = reason_of(text);
  if (known && known->kind == KIND_none && !request->strict) return true;
  e->outcome = known && known->kind != KIND_none ? known->outcome : OUTCOME_REFUSED;
  err_reason(e, text);
  enum kind kind = known && known->kind != KIND_none ? known->kind : KIND_refused;
  return err_set(e, kind, "%s: refused: %s%s%s", request->row->name, *text ? text : "no reason given",
                 known && known->doc ? ". " : "", known && known->doc ? known->doc : "");
}

/* Turns { result, reason, ... } at the top into { changed, reason, via, authenticated, ... }:
 * done needs a positive statement (doc/protocol.md#outcomes). */
static bool command_result(lua_State *L, const struct request *request, struct err *e) {
  int table = lua_gettop(L);
  if (lua_type(L, table) != LUA_TTABLE || lua_getfield(L, table, "result") != LUA_TBOOLEAN)
    return not_what_is_promised(e, request, "does not say whether the command was done");
  bool changed = lua_toboolean(L, -1);
  lua_settop(L, table);
  const char *reason = word(L, table, "reason");
  if (!changed && !judge_reason(e, request, reason ? reason : "")) return false;
  lua_pushnil(L);
  lua_setfield(L, table, "result");
  lua_pushboolean(L, changed);
  lua_setfield(L, table, "changed");
  lua_pushstring(L, reason ? reason : "");
  lua_setfield(L, table, "reason");
  lua_pushliteral(L, "plain");
  lua_setfield(L, table, "via");
  lua_pushboolean(L, false);
  lua_setfield(L, table, "authenticated");
  return true;
}

/* Energy settings answer { code, message }, { result, reason } or a bare word
 * (doc/protocol.md#energy-settings). */
static bool setting_result(lua_State *L, const struct request *request, struct err *e) {
  int value = lua_gettop(L);
  if (lua_type(L, value) != LUA_TTABLE) {
    lua_newtable(L);
    lua_insert(L, value);
    if (lua_type(L, -1) == LUA_TSTRING) lua_setfield(L, value, "message");
    lua_settop(L, value);
  }
  if (lua_getfield(L, value, "result") == LUA_TBOOLEAN && !lua_toboolean(L, -1)) {
    const char *reason = word(L, value, "reason");
    if (!judge_reason(e, request, reason ? reason : "")) return false;
    lua_settop(L, value);
    lua_pushboolean(L, false);
  } else {
    lua_settop(L, value);
    lua_pushboolean(L, true);
  }
  lua_setfield(L, value, "changed");
  return true;
}

/* Replaces the decoded body at the top by what stands under `response`, where the service wraps it. */
static void unwrap(lua_State *L, const struct row *row) {
  if (row->paging != PAGED_NO || lua_type(L, -1) != LUA_TTABLE) return;
  lua_pushliteral(L, "response");
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_remove(L, -2);
}

static bool says_error(lua_State *L, const struct said *s, const struct row *row) {
  if (!s->error) return false;
  lua_getfield(L, -1, "response");
  bool empty = lua_isnil(L, -1);
  lua_pop(L, 1);
  return empty || !(row->flags & ROW_COMMAND);
}

/* Pushes the result of a 2xx, or fills e. */
static bool good_result(lua_State *L, const struct request *request, const struct http_response *r,
                        struct err *e) {
  const struct row *row = request->row;
  if (row->result == RESULT_BYTES || request->raw) {
    push_buf(L, &r->body);
    return true;
  }
  struct err unread = ERR_INIT;
  if (!json_decode(L, buf_bytes(&r->body), row->ids, &unread))
    return not_what_is_promised(e, request, r->body.size ? "is not JSON" : "is empty");
  struct said s = read_said(L, lua_gettop(L));
  if (says_error(L, &s, row)) {
    const struct reason *known = reason_of(s.error);
    err_reason(e, s.error);
    e->outcome = request_is_write(request) ? OUTCOME_REFUSED : OUTCOME_NONE;
    return err_set(e, known && known->kind ? known->kind : KIND_service, "%s: %s%s%s", request_name(request),
                   s.error, s.description ? ": " : "", s.description ? s.description : "");
  }
  unwrap(L, row);
  if (row->result == RESULT_BASE64) return bytes_result(L, request, e);
  if (row->flags & ROW_COMMAND) return command_result(L, request, e);
  if (row->flags & ROW_SETTING) return setting_result(L, request, e);
  return true;
}

/* ---- core.result(request, reply, wall, state) -> value, or nil, err, kind, passing, trait ---- */

static enum vehicle_state state_named(const char *name) {
  if (strcmp(name, "online") == 0) return STATE_ONLINE;
  if (strcmp(name, "asleep") == 0) return STATE_ASLEEP;
  return strcmp(name, "offline") == 0 ? STATE_OFFLINE : STATE_UNKNOWN;
}

static const char *const trait_names[] = {NULL, "by_state", "sign", "plain"};

static struct exchange exchange_of(const struct request *request, const struct http_response *r) {
  return (struct exchange){.failure = r->failure,
                           .status = r->status,
                           .sent = r->sent,
                           .write = request_is_write(request),
                           .text = buf_bytes(&r->body),
                           .headers = buf_bytes(&r->headers)};
}

static void failed_result(lua_State *L, const struct request *request, const struct http_response *r,
                          const struct verdict *v, struct err *e) {
  struct err ignored = ERR_INIT;
  struct said s = {NULL, NULL, NULL};
  if (r->failure == HTTP_OK && json_decode(L, buf_bytes(&r->body), NULL, &ignored))
    s = read_said(L, lua_gettop(L));
  e->kind = v->kind;
  e->outcome = v->outcome;
  e->status = r->status;
  e->retry_after = v->retry_after;
  compose(e, request_name(request), r, &s, v->row ? v->row->advice : NULL);
}

static int l_result(lua_State *L) {
  const struct request *request = box_check(L, 1, &request_type);
  const struct http_response *r = check_reply(L, 2)->response;
  struct exchange x = exchange_of(request, r);
  struct err e = ERR_INIT;
  x.wall = luaL_checknumber(L, 3);
  x.state = state_named(luaL_optstring(L, 4, ""));
  struct verdict v = outcome_judge(&x);
  if (v.kind == KIND_none) {
    if (good_result(L, request, r, &e)) return 1;
    e.status = r->status;
  } else {
    failed_result(L, request, r, &v, &e);
  }
  push_failure(L, &e);
  lua_pushboolean(L, v.passing);
  lua_pushstring(L, v.row ? trait_names[v.row->trait] : NULL);
  return 5;
}

/* The error text of a body, where JSON may write a slash as "\/"; else the body as it is. May leave the table
 * on the stack. */
static struct bytes error_text(lua_State *L, const struct http_response *r) {
  struct err ignored = ERR_INIT;
  struct said s = {NULL, NULL, NULL};
  if (json_decode(L, buf_bytes(&r->body), NULL, &ignored)) s = read_said(L, lua_gettop(L));
  return s.error ? bytes_of(s.error) : buf_bytes(&r->body);
}

/* core.other_host(reply, hosts) -> the base address that a 421 names, if one of the hosts accepts it; see
 * outcome.h */
static int l_other_host(lua_State *L) {
  const struct http_response *r = check_reply(L, 1)->response;
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = lua_rawlen(L, 2);
  const char **hosts = lua_newuserdatauv(L, (count + 1) * sizeof *hosts, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    hosts[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  hosts[count] = NULL;
  struct buf *base_url = push_scratch(L);
  if (!outcome_other_host(buf_bytes(&r->headers), error_text(L, r), hosts, base_url)) return 0;
  push_buf(L, base_url);
  return 1;
}

/* ---- core.next(err kind, outcome, facts) -> "fail" | "refresh" | "region" | "repeat", pause in seconds ----
 */

static bool fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static int count(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int value = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return value;
}

static int l_next(lua_State *L) {
  static const char *const names[] = {"fail", "refresh", "region", "repeat"};
  struct verdict v = {.kind = kind_of(luaL_checkstring(L, 1)),
                      .outcome = outcome_of(luaL_optstring(L, 2, NULL))};
  luaL_checktype(L, 3, LUA_TTABLE);
  struct history h = {.write = fact(L, 3, "write"),
                      .idempotent = fact(L, 3, "idempotent"),
                      .own_token = fact(L, 3, "own_token"),
                      .other_host = fact(L, 3, "other_host"),
                      .refreshes = count(L, 3, "refreshes"),
                      .regions = count(L, 3, "regions"),
                      .repeats = count(L, 3, "repeats")};
  v.passing = fact(L, 3, "passing");
  lua_getfield(L, 3, "left");
  h.left = luaL_optnumber(L, -1, 0);
  lua_getfield(L, 3, "retry_after");
  v.retry_after = luaL_optnumber(L, -1, 0);
  double wait = 0;
  lua_pushstring(L, names[outcome_next(&v, &h, &wait)]);
  lua_pushnumber(L, wait);
  return 2;
}

/* core.err{ kind =, message =, outcome =, reason =, status =, retry_after =, ... } -> err with those members
 */
static int l_err(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "kind");
  if (kind_of(luaL_checkstring(L, -1)) == KIND_none) return luaL_error(L, "unknown error kind");
  struct err e = ERR_INIT;
  push_err(L, &e);
  lua_getmetatable(L, -1);
  lua_setmetatable(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* core.reason(text) -> kind or nil for "already so", doc; nothing when no row knows it */
static int l_reason(lua_State *L) {
  const struct reason *r = reason_of(luaL_checkstring(L, 1));
  if (!r) return 0;
  if (r->kind)
    lua_pushstring(L, kind_name(r->kind));
  else
    lua_pushboolean(L, false);
  lua_pushstring(L, r->doc);
  return 2;
}

void open_reply(lua_State *L) {
  box_define(L, &reply_type);
  lua_pop(L, 1);
  static const luaL_Reg functions[] = {
      {"reply", l_reply}, {"result", l_result}, {"next", l_next}, {"other_host", l_other_host},
      {"err", l_err},     {"reason", l_reason}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
