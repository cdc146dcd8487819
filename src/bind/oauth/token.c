#include "oauth/token.h"

#include "bind/call/reply.h"
#include "bind/lua/secret.h"
#include "bind/oauth/token.h"
#include "oauth/record.h"
#include "oauth/reply.h"

#include <string.h>

enum { PREFIX = 3 /* characters of the refresh token: they may name a region */ };

static void release_token(void *object) {
  token_free(object);
}

static const luaL_Reg token_methods[];
static const struct box_type token_type = {"fleet.oauth_token", release_token, token_methods, NULL};

const struct token *check_token(lua_State *L, int index) {
  return box_check(L, index, &token_type);
}

const struct token *token_member(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  const struct token *t = lua_toboolean(L, -1) ? check_token(L, -1) : NULL;
  lua_pop(L, 1);
  return t;
}

static struct token *push_token(lua_State *L) {
  struct token *t = box_new(L, &token_type, sizeof *t, 0);
  box_open(L, -1);
  return t;
}

/* core.token() -> an empty one, for token:take */
static int l_token(lua_State *L) {
  push_token(L);
  return 1;
}

/* core.token_record(text) -> the token of a stored record, or nil when it is none */
static int l_token_record(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  struct token *t = push_token(L);
  if (record_read(text, t)) return 1;
  lua_pushnil(L);
  return 1;
}

/* core.token_given(access token) -> a token of which nothing else is known */
static int l_token_given(lua_State *L) {
  struct bytes access = check_bytes(L, 1);
  struct token *t = push_token(L);
  buf_add(&t->access, access.data, access.size);
  return buf_ok(&t->access) ? 1 : luaL_error(L, "out of memory");
}

/* ---- a reply ---- */

static const struct http_response *reply_member(lua_State *L, int index) {
  lua_getfield(L, index, "reply");
  const struct reply *reply = box_check(L, -1, &reply_type);
  lua_pop(L, 1);
  return reply->response;
}

static struct token_made read_made(lua_State *L, int index) {
  const struct token *stored = token_member(L, index, "stored");
  return (struct token_made){.now = {number_member(L, index, "mono", 0), number_member(L, index, "wall", 0)},
                             .fence = number_member(L, index, "fence", 0),
                             .after = stored ? stored->order : 0,
                             .third_party = flag_member(L, index, "third_party")};
}

static int push_end(lua_State *L, const struct err *e, enum token_end end) {
  static const char *const names[] = {"issued", "refused", "unanswered", "kept"};
  push_failure(L, e);
  lua_pushstring(L, names[end]);
  return 4;
}

/* token:take{ reply, form, nonce, before, stored, asked, fence, third_party, mono, wall } -> true; or nil,
 * err, kind, and the state of the code or refresh token: "refused", "unanswered" or "kept". An issued token
 * is stored without memory of Lua, so that it cannot be lost. */
static int l_take(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct token *t = box_check(L, 1, &token_type);
  luaL_checktype(L, 2, LUA_TTABLE);
  const struct http_response *reply = reply_member(L, 2);
  const struct token *before = token_member(L, 2, "before");
  struct token_sent sent = {text_member(L, 2, "form"), text_member(L, 2, "nonce")};
  struct bytes asked = text_member(L, 2, "asked");
  struct token_made made = read_made(L, 2);
  token_free(t);
  enum token_end end = reply_read(reply, &sent, made.now.wall, t, &made.lifetime, &e);
  if (end != TOKEN_ISSUED) return push_end(L, &e, end);
  buf_add(&t->asked, asked.data, asked.size);
  if (!token_complete(t, before, &made)) return luaL_error(L, "out of memory");
  lua_pushboolean(L, true);
  return 1;
}

/* ---- contents and decisions ---- */

static int l_access(lua_State *L) {
  check_token(L, 1);
  struct buf *own = push_scratch(L);
  const struct token *t = check_token(L, 1);
  buf_add(own, t->access.data, t->access.size);
  push_buf(L, own);
  box_close(L, -2);
  return 1;
}

static int l_json(lua_State *L) {
  check_token(L, 1);
  struct buf *text = push_secret(L);
  record_write(check_token(L, 1), text);
  push_buf(L, text);
  box_close(L, -2);
  return 1;
}

static struct now check_now(lua_State *L, int index) {
  return (struct now){luaL_checknumber(L, index), luaL_checknumber(L, index + 1)};
}

/* token:choose(mono, wall, rejected access token or nil) -> "use", "refresh" or "login"; and the seconds that
 * are left, where they are known */
static int l_choose(lua_State *L) {
  static const char *const names[] = {"use", "refresh", "login"};
  const struct token *t = check_token(L, 1);
  struct now now = check_now(L, 2);
  double left;
  struct bytes rejected = lua_isnoneornil(L, 4) ? (struct bytes){NULL, 0} : check_bytes(L, 4);
  lua_pushstring(L, names[token_choose(t, &now, rejected)]);
  if (!token_left(t, &now, &left)) return 1;
  lua_pushnumber(L, left);
  return 2;
}

static int l_newer(lua_State *L) {
  lua_pushboolean(L, token_newer(check_token(L, 1), check_token(L, 2)));
  return 1;
}

static int l_same_access(lua_State *L) {
  const struct token *a = check_token(L, 1), *b = check_token(L, 2);
  lua_pushboolean(L, bytes_equal_secret(buf_bytes(&a->access), buf_bytes(&b->access)));
  return 1;
}

static int l_same_refresh(lua_State *L) {
  const struct token *a = check_token(L, 1), *b = check_token(L, 2);
  lua_pushboolean(L, bytes_equal_secret(buf_bytes(&a->refresh), buf_bytes(&b->refresh)));
  return 1;
}

/* token:refreshable() -> whether there is a refresh token */
static int l_refreshable(lua_State *L) {
  lua_pushboolean(L, check_token(L, 1)->refresh.size > 0);
  return 1;
}

/* token:has_previous(mono, wall) -> whether the service may still accept the refresh token before */
static int l_has_previous(lua_State *L) {
  struct now now = check_now(L, 2);
  lua_pushboolean(L, token_previous(check_token(L, 1), &now));
  return 1;
}

/* token:stale(mono, wall) -> whether it must be refreshed so that disuse does not end it */
static int l_stale(lua_State *L) {
  struct now now = check_now(L, 2);
  lua_pushboolean(L, token_stale(check_token(L, 1), &now));
  return 1;
}

/* token:age_of(other): takes its end from another object with the same access token */
static int l_age_of(lua_State *L) {
  struct token *t = box_check(L, 1, &token_type);
  const struct token *other = check_token(L, 2);
  bool same = bytes_equal_secret(buf_bytes(&t->access), buf_bytes(&other->access));
  if (same && t->ends <= 0) t->ends = other->ends, t->previous_here = other->previous_here;
  return 0;
}

/* token:begin(mono, wall): it ages by the monotonic clock from now on */
static int l_begin(lua_State *L) {
  struct token *t = box_check(L, 1, &token_type);
  struct now now = check_now(L, 2);
  token_begin(t, &now);
  return 0;
}

/* Pushes a copy of the first argument: making Lua values may run a finaliser of the host, which may close the
 * client that owns the token. */
static const struct token *push_copy(lua_State *L) {
  check_token(L, 1);
  struct token *own = push_token(L);
  if (!token_copy(own, check_token(L, 1))) luaL_error(L, "out of memory");
  return own;
}

static void set_time(lua_State *L, const char *name, double seconds) {
  if (seconds <= 0) return;
  lua_pushnumber(L, seconds);
  lua_setfield(L, -2, name);
}

/* token:facts() -> { expires_at, refreshed_at, refresh_by, scope, asked, prefix, claims }. prefix: the first
 * three characters of the refresh token, which may name a region. claims: of the access token, as JSON, not
 * verified. */
static int l_facts(lua_State *L) {
  const struct token *t = push_copy(L);
  struct bytes refresh = {t->refresh.data, t->refresh.size < PREFIX ? t->refresh.size : PREFIX};
  struct buf *claims = push_scratch(L);
  if (!reply_claims(claims, buf_bytes(&t->access))) buf_clear(claims);
  lua_createtable(L, 0, 7);
  set_time(L, "expires_at", t->expires_at);
  set_time(L, "refreshed_at", t->refreshed_at);
  set_time(L, "refresh_by", token_refresh_by(t));
  set_buf(L, "scope", &t->scope);
  set_buf(L, "asked", &t->asked);
  set_buf(L, "claims", claims);
  if (refresh.size) set_bytes(L, "prefix", refresh);
  box_close(L, -2);
  box_close(L, -3);
  return 1;
}

static const luaL_Reg token_methods[] = {{"take", l_take},
                                         {"access", l_access},
                                         {"json", l_json},
                                         {"choose", l_choose},
                                         {"newer", l_newer},
                                         {"same_access", l_same_access},
                                         {"same_refresh", l_same_refresh},
                                         {"refreshable", l_refreshable},
                                         {"has_previous", l_has_previous},
                                         {"stale", l_stale},
                                         {"age_of", l_age_of},
                                         {"begin", l_begin},
                                         {"facts", l_facts},
                                         {NULL, NULL}};

void open_token(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"token", l_token}, {"token_record", l_token_record}, {"token_given", l_token_given}, {NULL, NULL}};
  box_define(L, &token_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
