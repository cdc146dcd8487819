#include "bind/call/reply.h"

#include "bind/lua/value.h"

#include "call/failure.h"
#include "http/header.h"

#include <math.h>
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

static int push_header(lua_State *L, struct bytes headers, const char *name) {
  struct bytes value = header_value(headers, name);
  if (!value.data) return 0;
  lua_pushlstring(L, (const char *)value.data, value.size);
  return 1;
}

/* reply:header(name) -> value or nil; name in lower case */
static int l_header(lua_State *L) {
  return push_header(L, buf_bytes(&check_reply(L, 1)->response->headers), luaL_checkstring(L, 2));
}

/* core.header(headers, name) -> value or nil; headers: text as reply:headers() gives it */
static int l_header_of(lua_State *L) {
  return push_header(L, check_bytes(L, 1), luaL_checkstring(L, 2));
}

/* core.http_date(text) -> UTC seconds, or nothing */
static int l_http_date(lua_State *L) {
  double seconds = header_date(check_bytes(L, 1));
  if (seconds < 0) return 0;
  lua_pushnumber(L, seconds);
  return 1;
}

static const luaL_Reg reply_methods[] = {{"status", l_status},   {"body", l_body}, {"headers", l_headers},
                                         {"failure", l_failure}, {"sent", l_sent}, {"seconds", l_seconds},
                                         {"header", l_header},   {NULL, NULL}};
const struct box_type reply_type = {"fleet.reply", release_reply, reply_methods, NULL};

/* ---- a reply that a host's own HTTP hands in ---- */

static enum http_failure failure_named(lua_State *L, const char *name) {
  for (int i = 0; i < FAILURE_COUNT; i++)
    if (strcmp(failure_names[i], name) == 0) return (enum http_failure)i;
  return (enum http_failure)raise_unknown(L, "failure", name, failure_names, FAILURE_COUNT);
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
  if (lua_getfield(L, index, "headers") == LUA_TTABLE) {
    struct arena *a = push_arena(L);
    for (const struct node *one = value_at(L, -2, a)->first; one; one = one->next) {
      const struct node *text = node_written(a, one);
      double number;
      if (one->key != KEY_NAME) continue;
      bool is_text = text && (node_is(one, NODE_TEXT) || node_as_number(one, &number));
      if (is_text)
        header_line(out, one->name, text->text);
      else
        luaL_error(L, "a header must be a string, got %s", node_type_name(one));
    }
    box_close(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void refuse_body(struct http_response *r) {
  static const char text[] = "the reply is larger than max_response";
  r->failure = HTTP_TOO_LARGE;
  memcpy(r->message, text, sizeof text);
}

/* core.reply({ status =, headers = { name = value }, body =, failure =, message =, sent = }, most or nil); a
 * body of more bytes is a failure */
static int l_reply(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  double most = luaL_optnumber(L, 2, HUGE_VAL);
  lua_settop(L, 1);
  struct reply *r = box_new(L, &reply_type, sizeof *r, 0);
  r->response = &r->own;
  box_open(L, -1);
  lua_getfield(L, 1, "status");
  double status = luaL_optnumber(L, -1, 0);
  if (!(status >= 0 && status <= 999) ||
      status != floor(status)) /* cast to an int, 2^32 + 200 would be 200 */
    luaL_error(L, "its status is not a whole number from 0 to 999");
  r->own.status = (int)status;
  lua_getfield(L, 1, "failure");
  r->own.failure = failure_named(L, luaL_optstring(L, -1, "ok"));
  lua_getfield(L, 1, "message");
  strncat(r->own.message, luaL_optstring(L, -1, ""), sizeof r->own.message - 1);
  lua_getfield(L, 1, "sent");
  r->own.sent = lua_isnil(L, -1) || lua_toboolean(L, -1);
  if (lua_getfield(L, 1, "body") != LUA_TNIL) {
    struct bytes body = check_bytes(L, -1);
    if ((double)body.size > most)
      refuse_body(&r->own);
    else
      buf_add(&r->own.body, body.data, body.size);
  }
  take_headers(L, 1, &r->own.headers);
  lua_settop(L, 2);
  return 1;
}

void open_reply(lua_State *L) {
  box_define(L, &reply_type);
  lua_pop(L, 1);
  static const luaL_Reg functions[] = {
      {"reply", l_reply}, {"header", l_header_of}, {"http_date", l_http_date}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
