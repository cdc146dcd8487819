#include "bind/lua/value.h"
#include "bind/signing/context.h"
#include "call/arguments.h"
#include "signing/wire/codec.h"
#include "signing/wire/message.h"
#include "signing/wire/reflect.h"

/* fleet.decode_command(domain, payload) -> name, params, params of the same command for further seats: a
 * list, or nil; or nil, err, kind */
static int l_decode_command(lua_State *L) {
  struct err e;
  err_clear(&e);
  enum domain domain = check_domain(L, 1);
  expect_type(L, 2, LUA_TSTRING, "decode_command: the bytes of a message");
  struct bytes payload = check_bytes(L, 2);
  struct arena *of_message = push_arena(L), *a = push_arena(L);
  arena_start(of_message, 4 * MESSAGE_LIMIT);
  struct value values[DECODE_MAX];
  const struct row *row = codec_decode(domain, payload, 0, of_message, values, &e);
  if (!row) return wipe(values, sizeof values), push_failure(L, &e);
  struct node *first = plain_params(a, row, values), *further = NULL;
  const struct row *other;
  for (size_t at = 1; (other = codec_decode(domain, payload, at, of_message, values, &e)); at++) {
    if (!further) further = node_new(a, NODE_LIST);
    node_append(further, plain_params(a, other, values));
  }
  wipe(values, sizeof values);
  lua_pushstring(L, row->name);
  push_value(L, first);
  if (further)
    push_value(L, further);
  else
    lua_pushnil(L);
  box_close(L, -4);
  box_close(L, -5);
  return 3;
}

/* core.command_action(domain, payload) -> name of the member that holds the action, or nil where the
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
