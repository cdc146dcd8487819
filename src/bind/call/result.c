#include "base/reason.h"
#include "base/text.h"
#include "bind/call/request.h"
#include "bind/call/value.h"
#include "bind/call/reply.h"
#include "bind/lua/json.h"
#include "call/failure.h"
#include "http/other_host.h"
#include "http/outcome.h"

#include <stdio.h>
#include <string.h>

/* ---- members of a decoded body; texts stay alive with their table ---- */

/* A member that is a text with something in it, or NULL. */
static const char *string_field(lua_State *L, int table, const char *name) {
  const char *text = NULL;
  if (lua_getfield(L, table, name) == LUA_TSTRING) text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text && *text ? text : NULL;
}

/* The reason of { result, reason }; proxies of before 2025-03 call it `string`. NULL: none. */
static const char *reason_member(lua_State *L, int table) {
  const char *reason = string_field(L, table, "reason");
  return reason ? reason : string_field(L, table, "string");
}

static struct error_body read_error_body(lua_State *L, int body) {
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

/* ---- a good reply ---- */

static bool not_what_is_promised(struct err *e, const struct request *request, const char *what) {
  e->outcome = request_is_write(request) ? OUTCOME_UNKNOWN : OUTCOME_NONE;
  return err_set(e, KIND_protocol, "%s: the reply %s", request_name(request), what);
}

/* Decodes the base64 text at the top. */
static bool bytes_result(lua_State *L, const struct request *request, struct err *e) {
  struct buf *bytes = push_scratch(L);
  bool good = lua_type(L, -2) == LUA_TSTRING && buf_unbase64(bytes, check_bytes(L, -2));
  if (good) push_buf(L, bytes);
  box_close(L, good ? -2 : -1);
  return good || not_what_is_promised(e, request, "is not base64");
}

/* Replaces the value at `at` by { changed, reason, via, authenticated } and further members of the answer.
 */
static void finish_command(lua_State *L, int at, bool changed, const char *reason) {
  struct bytes words = reason_words(bytes_of(reason));
  lua_pushlstring(L, (const char *)words.data, words.size);
  lua_setfield(L, at, "reason");
  static const char *const gone[] = {"result", "string"};
  for (int i = 0; i < 2; i++) lua_pushnil(L), lua_setfield(L, at, gone[i]);
  lua_pushboolean(L, changed);
  lua_setfield(L, at, "changed");
  lua_pushliteral(L, "plain");
  lua_setfield(L, at, "via");
  lua_pushboolean(L, false);
  lua_setfield(L, at, "authenticated");
}

/* Turns { result, reason, ... } at the top into { changed, reason, via, authenticated, ... }:
 * only result = true counts as done (doc/protocol.md#outcomes). error: of the body around it, or NULL. */
static bool command_result(lua_State *L, const struct request *request, const char *error, struct err *e) {
  int table = lua_gettop(L);
  if (lua_getfield(L, table, "result") != LUA_TBOOLEAN)
    return not_what_is_promised(e, request, "does not say whether the command was done");
  bool changed = lua_toboolean(L, -1);
  lua_settop(L, table);
  if (changed && error) return not_what_is_promised(e, request, "says both done and an error");
  const char *said = reason_member(L, table), *reason = said ? said : error ? error : "";
  if (!changed && !judge_reason(e, request->row, request->options.strict, reason)) return false;
  finish_command(L, table, changed, reason);
  return true;
}

/* Copies the member `other` to `name` when the service wrote only `other`. */
static void rename_member(lua_State *L, int table, const char *name, const char *other) {
  if (lua_getfield(L, table, name) == LUA_TNIL && lua_getfield(L, table, other) != LUA_TNIL)
    lua_setfield(L, table, name);
  lua_settop(L, table);
}

/* The member of this name as a number, also where it is text; 0: there is none. */
static int code_of(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  lua_Number code = lua_tonumber(L, -1); /* 0: no number */
  lua_settop(L, table);
  return code >= 100 && code <= 999 ? (int)code : 0;
}

/* Energy settings answer { code, message } or { result, reason } (doc/protocol.md#energy-settings). The
 * setting counts as accepted only with a code of success or `result`; a string, true or {} proves nothing. */
static bool setting_result(lua_State *L, const struct request *request, struct err *e) {
  int value = lua_gettop(L);
  if (!lua_istable(L, value))
    return not_what_is_promised(e, request, "does not say whether the setting was taken");
  int small = code_of(L, value, "code"), large = code_of(L, value, "Code"), code = small ? small : large;
  if (small && large && small != large) return not_what_is_promised(e, request, "has two codes that differ");
  rename_member(L, value, "code", "Code");
  rename_member(L, value, "message", "Message");
  const char *message = string_field(L, value, "message"), *error = string_field(L, value, "error"),
             *reason = reason_member(L, value);
  if (code >= 400) return refused_setting(e, request->row, code, message ? message : error ? error : "");
  bool says = lua_getfield(L, value, "result") == LUA_TBOOLEAN, done = lua_toboolean(L, -1);
  lua_settop(L, value);
  if ((says && !done) || error) {
    if (!judge_reason(e, request->row, request->options.strict, error ? error : reason ? reason : ""))
      return false;
    done = false;
  } else if (!says && code / 100 != 2) {
    return not_what_is_promised(e, request, "does not say whether the setting was taken");
  } else {
    done = true;
  }
  lua_pushboolean(L, done);
  lua_setfield(L, value, "changed");
  return true;
}

/* A reply with bytes that needs no decoder: {"response":"base64"} and nothing else. Pushes the
 * bytes. */
static bool only_bytes(lua_State *L, struct bytes text) {
  static const char head[] = "{\"response\":\"", tail[] = "\"}";
  const size_t before = sizeof head - 1, around = before + sizeof tail - 1;
  if (text.size < around || memcmp(text.data, head, before) != 0 ||
      memcmp(text.data + text.size - sizeof tail + 1, tail, sizeof tail - 1) != 0)
    return false;
  struct buf *bytes = push_scratch(L);
  int box = lua_gettop(L);
  bool good = buf_unbase64(bytes, (struct bytes){text.data + before, text.size - around});
  if (good) push_buf(L, bytes);
  box_close(L, box);
  return good;
}

/* Whether the body has an `error` that makes the reply a failure. both: it has a `response` too. */
static bool says_error(lua_State *L, const struct row *row, bool *both) {
  if (lua_type(L, -1) != LUA_TTABLE || !string_field(L, lua_gettop(L), "error")) return false;
  lua_getfield(L, -1, "response");
  *both = lua_type(L, -1) == LUA_TTABLE;
  bool empty = lua_isnil(L, -1);
  lua_pop(L, 1);
  return empty || !(row->flags & ROW_COMMAND);
}

/* Whether the value is false instead of a record: a write did not succeed then. */
static bool says_no(lua_State *L) {
  return lua_isboolean(L, -1) ? !lua_toboolean(L, -1)
                              : lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "false") == 0;
}

enum { LAST_KNOWN_SUCCESS = 204 }; /* above it, the meaning of an `error` in a 2xx is not published */

static bool begins_with(const struct buf *body, const char *start) {
  return body->size >= strlen(start) && memcmp(body->data, start, strlen(start)) == 0;
}

/* Pushes the result of a 2xx, or fills e. */
static bool good_result(lua_State *L, const struct request *request, const struct http_response *r,
                        struct err *e) {
  const struct row *row = request->row;
  if (row->value & VALUE_BYTES || request->options.raw) {
    if (row->begins && !request->options.raw && !begins_with(&r->body, row->begins)) {
      char shown[96];
      snprintf(shown, sizeof shown, r->body.size ? "does not begin with %s" : "is empty", row->begins);
      return not_what_is_promised(e, request, shown);
    }
    push_buf(L, &r->body);
    return true;
  }
  if (row->value & VALUE_BASE64 && only_bytes(L, buf_bytes(&r->body))) return true;
  struct err unread;
  err_clear(&unread);
  if (!json_decode(L, buf_bytes(&r->body), row->ids, &unread))
    return not_what_is_promised(e, request, r->body.size ? "is not JSON" : "is empty");
  bool both = false;
  if (says_error(L, row, &both)) {
    struct error_body s = read_error_body(L, lua_gettop(L));
    const struct reason *known = reason_of(s.error);
    err_reason(e, s.error);
    e->outcome = !request_is_write(request)        ? OUTCOME_NONE
                 : both                            ? OUTCOME_UNKNOWN
                 : known && known->kind            ? known->outcome
                 : r->status <= LAST_KNOWN_SUCCESS ? OUTCOME_REFUSED
                                                   : OUTCOME_UNKNOWN;
    return err_set(e, known && known->kind ? known->kind : KIND_service, "%s: %s%s%s", request_name(request),
                   s.error, s.description ? ": " : "", s.description ? s.description : "");
  }
  const char *error = NULL;
  if (row->flags & ROW_COMMAND && lua_type(L, -1) == LUA_TTABLE) {
    lua_pushstring(L, string_field(L, lua_gettop(L), "error")); /* outlives the body, which is replaced */
    lua_insert(L, -2);
    error = lua_tostring(L, -2);
  }
  char what[64];
  if (!take_value(L, row, buf_bytes(&r->body), what)) return not_what_is_promised(e, request, what);
  if (request_is_write(request) && says_no(L))
    return judge_reason(e, request->row, request->options.strict, "");
  if (row->value & VALUE_BASE64) return bytes_result(L, request, e);
  if (row->flags & ROW_COMMAND) return command_result(L, request, error, e);
  if (row->flags & ROW_SETTING) return setting_result(L, request, e);
  return true;
}

/* ---- core.result(request, reply, wall, state, proxied) -> value ----
 * or nil, err, kind, transient, trait */

static enum vehicle_state state_named(const char *name) {
  if (strcmp(name, "online") == 0) return STATE_ONLINE;
  if (strcmp(name, "asleep") == 0) return STATE_ASLEEP;
  return strcmp(name, "offline") == 0 ? STATE_OFFLINE : STATE_UNKNOWN;
}

static const char *const trait_names[] = {NULL, "by_state", "sign", "plain", "proxy"};

static struct exchange exchange_of(const struct request *request, const struct http_response *r) {
  return (struct exchange){.failure = r->failure,
                           .status = r->status,
                           .sent = r->sent,
                           .write = request_is_write(request),
                           .text = buf_bytes(&r->body),
                           .headers = buf_bytes(&r->headers)};
}

/* The error text of a failure, decoded; of a body that is not JSON, all of it. May leave the table on the
 * stack. */
static struct error_body read_failure(lua_State *L, const struct http_response *r, struct exchange *x) {
  struct err ignored;
  err_clear(&ignored);
  struct error_body s = {NULL, NULL, NULL, false};
  x->words = x->text;
  if (r->failure != HTTP_OK || !json_decode(L, buf_bytes(&r->body), NULL, &ignored)) return s;
  s = read_error_body(L, lua_gettop(L));
  const char *words = s.error ? s.error : s.reason;
  x->words = bytes_of(words ? words : "");
  x->details = bytes_of(s.description ? s.description : "");
  return s;
}

static void failed_result(const struct request *request, const struct http_response *r,
                          const struct error_body *s, const struct verdict *v, struct err *e) {
  e->kind = v->kind;
  e->outcome = v->outcome;
  e->status = r->status;
  e->retry_after = v->retry_after;
  struct verdict shown = *v;
  bool of_site = strcmp(request->row->handle, "site") == 0; /* a site cannot be woken */
  if (of_site && v->row && v->row->advice && strstr(v->row->advice, "vehicle")) shown.row = NULL;
  compose_failure(e, request_name(request), r, s, &shown);
}

/* A signing proxy may state the vehicle's answer to a command beside any status. */
static bool is_vehicle_answer(const struct request *request, const struct exchange *x,
                              const struct error_body *s) {
  if (!x->proxied || x->status / 100 != 5 || !(request->row->flags & ROW_COMMAND)) return false;
  return s->refused || (s->error && reason_of_vehicle(bytes_of(s->error)));
}

/* Pushes the result of a command that the vehicle itself refused, or fills e. */
static bool vehicle_answer(lua_State *L, const struct request *request, const struct error_body *s,
                           struct err *e) {
  const char *reason = s->reason ? s->reason : s->error ? s->error : "";
  if (!judge_reason(e, request->row, request->options.strict, reason)) return false;
  lua_newtable(L);
  finish_command(L, lua_gettop(L), false, reason);
  return true;
}

/* The vehicle refused a plain command because it takes signed ones only. */
static bool wants_signature(const struct request *request, const struct exchange *x, const struct err *e) {
  return request->row->flags & ROW_COMMAND && !x->proxied && e->outcome == OUTCOME_REFUSED &&
         text_after(bytes_of(e->reason), "unsigned_cmds_hardlocked").data;
}

static int l_result(lua_State *L) {
  const struct request *request = box_check(L, 1, &request_type);
  const struct http_response *r = ((struct reply *)box_check(L, 2, &reply_type))->response;
  struct exchange x = exchange_of(request, r);
  struct err e;
  err_clear(&e);
  x.wall = luaL_checknumber(L, 3);
  x.state = state_named(luaL_optstring(L, 4, ""));
  x.proxied = lua_toboolean(L, 5);
  struct error_body s = {NULL, NULL, NULL, false};
  if (r->failure != HTTP_OK || r->status / 100 != 2) s = read_failure(L, r, &x);
  struct verdict v = outcome_judge(&x);
  bool answered = is_vehicle_answer(request, &x, &s);
  if (answered) v = (struct verdict){.kind = KIND_none};
  if (v.kind == KIND_none) {
    if (answered ? vehicle_answer(L, request, &s, &e) : good_result(L, request, r, &e)) return 1;
    e.status = r->status;
  } else {
    failed_result(request, r, &s, &v, &e);
  }
  push_failure(L, &e);
  lua_pushboolean(L, v.transient);
  enum trait trait = v.row ? v.row->trait : wants_signature(request, &x, &e) ? TRAIT_SIGN : TRAIT_NONE;
  lua_pushstring(L, trait_names[trait]);
  return 5;
}

/* ---- core.next(err kind, outcome, facts) -> "fail" | "refresh" | "region" | "repeat", pause in seconds ----
 */

static bool fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static double amount(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  double value = luaL_optnumber(L, -1, 0);
  lua_pop(L, 1);
  return value;
}

static int l_next(lua_State *L) {
  static const char *const names[] = {"fail", "refresh", "region", "repeat"};
  luaL_checktype(L, 3, LUA_TTABLE);
  struct verdict v = {.kind = kind_of(luaL_checkstring(L, 1)),
                      .outcome = outcome_of(luaL_optstring(L, 2, NULL)),
                      .transient = fact(L, 3, "transient"),
                      .retry_after = amount(L, 3, "retry_after")};
  struct history h = {.write = fact(L, 3, "write"),
                      .idempotent = fact(L, 3, "idempotent"),
                      .own_token = fact(L, 3, "own_token"),
                      .other_host = fact(L, 3, "other_host"),
                      .refreshes = (int)amount(L, 3, "refreshes"),
                      .regions = (int)amount(L, 3, "regions"),
                      .repeats = (int)amount(L, 3, "repeats"),
                      .left = amount(L, 3, "left")};
  double wait = 0;
  lua_pushstring(L, names[outcome_next(&v, &h, &wait)]);
  lua_pushnumber(L, wait);
  return 2;
}

/* ---- hosts ---- */

/* The error text of a body, where JSON may write a slash as "\/"; else the body as it is. May leave the table
 * on the stack. */
static struct bytes error_text(lua_State *L, const struct http_response *r) {
  struct err ignored;
  err_clear(&ignored);
  struct error_body s = {NULL, NULL, NULL, false};
  if (json_decode(L, buf_bytes(&r->body), NULL, &ignored)) s = read_error_body(L, lua_gettop(L));
  return s.error ? bytes_of(s.error) : buf_bytes(&r->body);
}

/* The list of hosts at this index, ended by NULL; pushes what holds it. */
static const char *const *push_hosts(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  size_t count = (size_t)lua_rawlen(L, index);
  const char **hosts = lua_newuserdatauv(L, (count + 1) * sizeof *hosts, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i + 1);
    hosts[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  hosts[count] = NULL;
  return hosts;
}

/* core.other_host(reply, hosts) -> the base address that a 421 names, if one of the hosts accepts it; see
 * outcome.h */
static int l_other_host(lua_State *L) {
  const struct http_response *r = ((struct reply *)box_check(L, 1, &reply_type))->response;
  const char *const *hosts = push_hosts(L, 2);
  struct buf *base_url = push_scratch(L);
  if (!other_host_named(buf_bytes(&r->headers), error_text(L, r), hosts, base_url)) return 0;
  push_buf(L, base_url);
  return 1;
}

/* core.accepted_host(address, hosts) -> its base address, if one of the hosts accepts it; see outcome.h */
static int l_accepted_host(lua_State *L) {
  struct bytes address = check_bytes(L, 1);
  const char *const *hosts = push_hosts(L, 2);
  struct buf *base_url = push_scratch(L);
  if (!other_host_accepted(address, hosts, base_url)) return 0;
  push_buf(L, base_url);
  return 1;
}

void open_result(lua_State *L) {
  static const luaL_Reg functions[] = {{"result", l_result},
                                       {"next", l_next},
                                       {"other_host", l_other_host},
                                       {"accepted_host", l_accepted_host},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
