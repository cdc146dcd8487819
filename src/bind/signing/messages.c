#include "bind/lua/value.h"
#include "bind/signing/context.h"
#include "call/arguments.h"
#include "signing/wire/codec.h"
#include "signing/wire/message.h"
#include "signing/wire/reflect.h"

static void push_day_words(lua_State *L, unsigned bits) {
  struct buf *text = push_scratch(L);
  days_text(text, bits);
  push_buf(L, text);
  lua_remove(L, -2);
}

static void push_object(lua_State *L, const char *member, struct bytes text) {
  lua_createtable(L, 0, 1);
  set_bytes(L, member, text);
}

static void push_hex(lua_State *L, struct bytes value) {
  struct buf *hex = push_scratch(L);
  buf_hex(hex, value);
  push_buf(L, hex);
  lua_remove(L, -2);
}

/* As in the plain body, so that one reader serves both forms. */
static void push_param_value(lua_State *L, const struct param *q, const struct value *v) {
  if (v->choice && v->choice->text)
    lua_pushstring(L, v->choice->text);
  else if (v->choice)
    lua_pushinteger(L, (lua_Integer)v->choice->number);
  else if (q->type == TYPE_BOOLEAN)
    lua_pushboolean(L, v->boolean);
  else if (q->type == TYPE_OBJECT)
    push_object(L, q->member, v->text);
  else if (q->type == TYPE_PUBLIC_KEY)
    push_hex(L, v->text);
  else if (q->type == TYPE_STRING)
    lua_pushlstring(L, (const char *)v->text.data, v->text.size);
  else if (q->type == TYPE_DAYS)
    push_day_words(L, (unsigned)v->integer);
  else if (q->type == TYPE_ID && v->integer <= INT64_MAX)
    lua_pushinteger(L, (lua_Integer)v->integer);
  else if (q->type == TYPE_INTEGER)
    lua_pushinteger(L, (lua_Integer)v->number);
  else
    lua_pushnumber(L, v->number);
}

static void push_values(lua_State *L, const struct row *row, const struct value *values) {
  lua_newtable(L);
  for (size_t i = 0; i < DECODE_MAX && row->params && row->params[i].name; i++) {
    if (!values[i].given) continue;
    push_param_value(L, &row->params[i], &values[i]);
    lua_setfield(L, -2, row->params[i].name);
  }
}

/* The same command for further seats, as a list of parameters; nil when there are none. */
static void push_further(lua_State *L, enum domain domain, struct bytes payload, struct arena *a,
                         struct value *values) {
  struct err none;
  err_clear(&none);
  const struct row *row;
  lua_pushnil(L);
  for (lua_Integer at = 1; (row = codec_decode(domain, payload, (size_t)at, a, values, &none)); at++) {
    if (at == 1) lua_pop(L, 1), lua_newtable(L);
    push_values(L, row, values);
    lua_seti(L, -2, at);
  }
}

/* fleet.decode_command(domain, payload) -> name, params, further params or nil; or nil, err, kind */
static int l_decode_command(lua_State *L) {
  struct err e;
  err_clear(&e);
  enum domain domain = check_domain(L, 1);
  expect_type(L, 2, LUA_TSTRING, "decode_command: the bytes of a message");
  struct bytes payload = check_bytes(L, 2);
  struct arena *a = push_arena(L);
  arena_start(a, 4 * MESSAGE_LIMIT);
  struct value *values = arena_take(a, DECODE_MAX * sizeof *values);
  const struct row *row = codec_decode(domain, payload, 0, a, values, &e);
  if (!row) return push_failure(L, &e);
  lua_pushstring(L, row->name);
  push_values(L, row, values);
  push_further(L, domain, payload, a, values);
  box_close(L, -4);
  return 3;
}

/* core.command_action(domain, payload) -> name of the member that says what is to be done, or nil where the
 * payload has none that is known */
static int l_command_action(lua_State *L) {
  struct arena a;
  const char *action = NULL;
  enum domain domain = check_domain(L, 1);
  struct bytes payload = check_bytes(L, 2);
  arena_start(&a, 4 * MESSAGE_LIMIT);
  codec_action(domain, payload, &a, &action);
  arena_end(&a);
  lua_pushstring(L, action);
  return 1;
}

static void push_envelope_facts(lua_State *L, const struct message *m) {
  lua_createtable(L, 0, 6);
  if (m->to_domain == DOMAIN_VCSEC || m->to_domain == DOMAIN_INFOTAINMENT)
    set_text(L, "domain", domain_name((enum domain)m->to_domain));
  set_boolean(L, "handshake", m->kind == PAYLOAD_HANDSHAKE);
  set_boolean(L, "gcm", m->signature == SIGNED_GCM);
  if (m->signer.data) set_bytes(L, "signer", m->signer);
  if (m->signature != SIGNED_HMAC) return;
  if (m->epoch.data) set_bytes(L, "epoch", m->epoch);
  set_integer(L, "counter", m->counter);
}

/* core.read_envelope(bytes) -> { domain =, handshake =, gcm =, signer =, epoch =, counter = }, or nil, err,
 * kind: the readable members of a routable message, for a forwarder; nothing is verified. epoch and counter
 * are those of an HMAC. */
static int l_read_envelope(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct message m;
  struct bytes in = check_bytes(L, 1);
  struct arena *a = push_arena(L);
  arena_start(a, 4 * MESSAGE_LIMIT);
  if (!message_read(&m, in, a, &e)) return push_failure(L, &e);
  push_envelope_facts(L, &m);
  box_close(L, -2);
  return 1;
}

/* core.message_json(type, payload) -> JSON text; type: "CarServer.Response", "VCSEC.FromVCSECMessage",
 * "CarServer.Action" … */
static int l_message_json(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *type = luaL_checkstring(L, 1);
  struct bytes payload = check_bytes(L, 2);
  struct buf *json = push_scratch(L);
  if (!members_json(type, payload, false, json, &e)) return push_failure(L, &e);
  push_buf(L, json);
  return 1;
}

/* core.encode_message(type, { ["path.of.member"] = value }) -> bytes; a value {} makes a message present.
 * Enums by name or number. The inverse of message_json. */
static int l_encode_message(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *type = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct arena *a = push_arena(L);
  const struct node *members = value_at(L, 2, a);
  struct buf *out = push_scratch(L);
  if (!members_encode(type, members, out, &e)) return luaL_error(L, "%s", e.message);
  push_buf(L, out);
  return 1;
}

void open_messages(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"decode_command", l_decode_command}, {"command_action", l_command_action},
      {"read_envelope", l_read_envelope},   {"message_json", l_message_json},
      {"encode_message", l_encode_message}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
