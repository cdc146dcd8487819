/* What the specs of the signing pillar need and no public call gives: chosen states, pure decisions, raw
 * bytes. */
#include "bind/lua/versions.h"
#include "crypto/schnorr.h"
#include "signing/jws.h"
#include "signing/metadata.h"
#include "signing/receiver.h"
#include "signing/session.h"
#include "signing/window.h"
#include "signing/wire/command_result.h"

#include <stdlib.h>
#include <string.h>

static struct bytes view(lua_State *L, int index) {
  size_t size;
  const char *data = luaL_checklstring(L, index, &size);
  return (struct bytes){(const unsigned char *)data, size};
}

static struct bytes field(lua_State *L, const char *name) { /* of the table at 1; stays on the stack */
  if (lua_getfield(L, 1, name) == LUA_TNIL) return (struct bytes){NULL, 0};
  return view(L, -1);
}

static uint32_t number(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  lua_Integer n = luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  return (uint32_t)n;
}

static void push(lua_State *L, struct bytes b) {
  lua_pushlstring(L, (const char *)b.data, b.size);
}

static struct crypto *crypto(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct crypto *c = crypto_new(&e);
  if (!c) luaL_error(L, "%s", e.message);
  return c;
}

static int fail(lua_State *L, const struct err *e) {
  return luaL_error(L, "%s", e->message);
}

/* ---- keys ---- */

static struct key *key_at(lua_State *L, struct crypto *c, struct bytes scalar) {
  struct err e;
  err_clear(&e);
  struct key *k = scalar.size == SCALAR_SIZE ? key_of_scalar(c, scalar.data, &e) : NULL;
  if (!k) luaL_error(L, "no key of this scalar");
  return k;
}

/* pem(scalar) -> private key text */
static int l_pem(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct crypto *c = crypto(L);
  struct key *k = key_at(L, c, view(L, 1));
  struct buf out = BUF_INIT;
  if (!key_private_pem(k, (struct bytes){NULL, 0}, &out, &e)) return fail(L, &e);
  push(L, buf_bytes(&out));
  buf_free(&out);
  key_unref(k);
  crypto_unref(c);
  return 1;
}

/* derive(scalar, peer) -> K, command key, session info key; or nil, message */
static int l_derive(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct crypto *c = crypto(L);
  struct key *k = key_at(L, c, view(L, 1));
  unsigned char shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
  bool ok = key_shared(k, view(L, 2), shared, &e) && derive_keys(c, shared, command, info);
  key_unref(k);
  crypto_unref(c);
  if (!ok) return lua_pushnil(L), lua_pushstring(L, e.message), 2;
  push(L, (struct bytes){shared, sizeof shared});
  push(L, (struct bytes){command, sizeof command});
  push(L, (struct bytes){info, sizeof info});
  return 3;
}

/* hmac(key, data), sha256(data), gcm_open(key, nonce, aad, ciphertext, tag) */
static int l_hmac(lua_State *L) {
  struct crypto *c = crypto(L);
  unsigned char tag[MAC_SIZE];
  crypto_hmac_once(c, view(L, 1), view(L, 2), tag);
  crypto_unref(c);
  push(L, (struct bytes){tag, sizeof tag});
  return 1;
}

static int l_gcm_open(lua_State *L) {
  struct crypto *c = crypto(L);
  struct buf out = BUF_INIT;
  bool ok = view(L, 1).size == SHARED_SIZE &&
            crypto_unseal(c, view(L, 1), view(L, 2), view(L, 3), view(L, 4), view(L, 5), &out);
  if (ok)
    push(L, buf_bytes(&out));
  else
    lua_pushnil(L);
  buf_free(&out);
  crypto_unref(c);
  return 1;
}

/* ---- metadata ---- */

static int push_metadata(lua_State *L, bool ok, struct bytes b) {
  if (ok)
    push(L, b);
  else
    lua_pushnil(L);
  return 1;
}

static int l_request_metadata(lua_State *L) {
  struct metadata m;
  struct bytes out;
  struct request_facts f = {
      (enum method)number(L, "method"), number(L, "domain"),  field(L, "vin"),   field(L, "epoch"),
      number(L, "expires_at"),          number(L, "counter"), number(L, "flags")};
  return push_metadata(L, metadata_request(&m, &f, &out), out);
}

static int l_response_metadata(lua_State *L) {
  struct metadata m;
  struct bytes out;
  struct response_facts f = {number(L, "domain"),  field(L, "vin"),    field(L, "request_hash"),
                             number(L, "counter"), number(L, "flags"), number(L, "fault")};
  return push_metadata(L, metadata_response(&m, &f, &out), out);
}

static int l_info_metadata(lua_State *L) {
  struct metadata m;
  struct bytes out;
  return push_metadata(L, metadata_session_info(&m, view(L, 1), view(L, 2), &out), out);
}

/* items{ {tag, bytes}, ... } -> bytes, or nil when they are out of order or too long */
static int l_items(lua_State *L) {
  struct metadata m;
  struct bytes out;
  metadata_start(&m);
  for (lua_Integer i = 1; i <= luaL_len(L, 1); i++) {
    lua_geti(L, 1, i);
    lua_geti(L, -1, 1);
    bool present = lua_geti(L, -2, 2) == LUA_TSTRING;
    metadata_bytes(&m, (enum tag)lua_tointeger(L, -2), present ? view(L, -1) : (struct bytes){NULL, 0});
  }
  return push_metadata(L, metadata_end(&m, &out), out);
}

/* ---- decisions ---- */

/* window(highest, used, open, n) -> highest, used, accepted */
static int l_window(lua_State *L) {
  bool accepted;
  struct window w = {(uint32_t)luaL_checkinteger(L, 1), (uint32_t)luaL_checkinteger(L, 2),
                     lua_toboolean(L, 3)};
  w = window_use(w, (uint32_t)luaL_checkinteger(L, 4), &accepted);
  lua_pushinteger(L, w.highest);
  lua_pushinteger(L, w.used);
  lua_pushboolean(L, accepted);
  return 3;
}

/* A session state as a table: counter, clock, epoch, past epoch, zero. update(state or nil, info, now) ->
 * state, taken */
static int l_update(lua_State *L) {
  struct epoch_state *s = lua_newuserdatauv(L, sizeof *s, 0);
  if (lua_isnil(L, 1))
    *s = (struct epoch_state){0};
  else
    memcpy(s, lua_touserdata(L, 1), sizeof *s);
  lua_replace(L, 1);
  lua_pushvalue(L, 2);
  lua_insert(L, 1); /* info at 1, state at 2 */
  struct session_info i = {
      .counter = number(L, "counter"), .clock_time = number(L, "clock_time"), .epoch = field(L, "epoch")};
  bool taken;
  *s = epoch_update(*s, &i, luaL_checknumber(L, 4), &taken);
  lua_pushvalue(L, 2);
  lua_pushboolean(L, taken);
  return 2;
}

static int l_state(lua_State *L) {
  const struct epoch_state *s = lua_touserdata(L, 1);
  lua_pushinteger(L, s->counter);
  lua_pushinteger(L, s->clock_time);
  push(L, (struct bytes){s->epoch, EPOCH_SIZE});
  return 3;
}

/* expiry(zero, now, lifetime) -> expires_at */
static int l_expiry(lua_State *L) {
  struct epoch_state s = {.known = true, .epoch_start = luaL_checknumber(L, 1)};
  lua_pushinteger(L, epoch_expiry(&s, luaL_checknumber(L, 2), luaL_checknumber(L, 3)));
  return 1;
}

/* never_taken{ signed_epoch =, signed_counter =, epoch =, counter =, clock_time =, passed = } -> boolean */
static int l_never_taken(lua_State *L) {
  struct message_id m = {.counter = number(L, "signed_counter")};
  struct session_info i = {
      .counter = number(L, "counter"), .clock_time = number(L, "clock_time"), .epoch = field(L, "epoch")};
  struct bytes epoch = field(L, "signed_epoch");
  luaL_argcheck(L, epoch.size == EPOCH_SIZE, 1, "signed_epoch has 16 bytes");
  memcpy(m.epoch, epoch.data, EPOCH_SIZE);
  lua_pushboolean(L, never_taken(&m, &i, number(L, "passed")));
  return 1;
}

/* fault_outcome(number, "none"|"against"|"proof") -> "refused" or "unknown" */
static int l_fault_outcome(lua_State *L) {
  static const char *const words[] = {"none", "against", "proof", NULL};
  const struct fault *row = fault_row((uint32_t)luaL_checkinteger(L, 1));
  lua_pushstring(L, outcome_name(fault_outcome(row, (enum evidence)luaL_checkoption(L, 2, NULL, words))));
  return 1;
}

static int l_role_may(lua_State *L) {
  int role = role_of(luaL_checkstring(L, 1));
  if (role < 0) return lua_pushnil(L), 1;
  lua_pushboolean(L, role_may((enum role)role, (uint32_t)luaL_checkinteger(L, 2), luaL_checkstring(L, 3)));
  return 1;
}

/* ---- messages ---- */

/* info{ counter =, clock_time =, public =, epoch =, status = } -> bytes */
static int l_info(lua_State *L) {
  struct buf out = BUF_INIT;
  struct session_info i = {number(L, "counter"), number(L, "clock_time"), number(L, "status"),
                           field(L, "public"), field(L, "epoch")};
  session_info_write(&i, &out);
  push(L, buf_bytes(&out));
  buf_free(&out);
  return 1;
}

/* envelope{ address =, domain =, session_info =, tag =, request_uuid =, fault =, payload =, status = } -> an
 * answer */
static int l_envelope(lua_State *L) {
  struct buf out = BUF_INIT;
  struct message m = {.to_address = field(L, "address"),
                      .from_domain = number(L, "domain"),
                      .request_uuid = field(L, "request_uuid"),
                      .fault = number(L, "fault"),
                      .status = number(L, "status")};
  struct bytes info = field(L, "session_info"), payload = field(L, "payload"), tag = field(L, "tag");
  if (info.data) m.kind = PAYLOAD_SESSION_INFO, m.payload = info;
  if (payload.data) m.kind = PAYLOAD_BYTES, m.payload = payload;
  if (tag.data) m.signature = SIGNED_SESSION_INFO, m.tag = tag;
  message_write(&m, &out);
  push(L, buf_bytes(&out));
  buf_free(&out);
  return 1;
}

/* read(bytes) -> table of the parts that specs look at; or nil */
static int l_read(lua_State *L) {
  struct arena a;
  struct message m;
  struct err e;
  err_clear(&e);
  arena_start(&a, 4 * MESSAGE_LIMIT);
  if (!message_read(&m, view(L, 1), &a, &e)) return arena_end(&a), lua_pushnil(L), 1;
  lua_newtable(L);
#define BYTES(name, from) push(L, from), lua_setfield(L, -2, name)
#define NUMBER(name, from) lua_pushinteger(L, from), lua_setfield(L, -2, name)
  BYTES("uuid", m.uuid), BYTES("request_uuid", m.request_uuid), BYTES("from_address", m.from_address);
  BYTES("to_address", m.to_address), BYTES("payload", m.payload), BYTES("tag", m.tag),
      BYTES("nonce", m.nonce);
  BYTES("epoch", m.epoch), BYTES("signer", m.signer);
  NUMBER("to_domain", m.to_domain), NUMBER("from_domain", m.from_domain), NUMBER("fault", m.fault),
      NUMBER("status", m.status);
  NUMBER("counter", m.counter), NUMBER("expires_at", m.expires_at), NUMBER("flags", m.flags);
  NUMBER("kind", m.kind), NUMBER("signature", m.signature);
  arena_end(&a);
  return 1;
}

/* read_answer("infotainment" or "vehicle_security", payload, authenticated, "wait", "error" or nil) -> true;
 * or nil, { reason =, outcome = }, kind */
static int l_read_answer(lua_State *L) {
  static const char *const words[] = {"ok", "wait", "error", NULL};
  struct err e;
  err_clear(&e);
  struct answer_facts f = {*luaL_checkstring(L, 1) == 'i' ? DOMAIN_INFOTAINMENT : DOMAIN_VCSEC, view(L, 2),
                           lua_toboolean(L, 3), (uint32_t)luaL_checkoption(L, 4, "ok", words)};
  if (answer_read(&f, &e)) return lua_pushboolean(L, true), 1;
  lua_pushnil(L);
  lua_createtable(L, 0, 2);
  if (e.reason[0]) lua_pushstring(L, e.reason), lua_setfield(L, -2, "reason");
  lua_pushstring(L, outcome_name(e.outcome)), lua_setfield(L, -2, "outcome");
  lua_pushstring(L, kind_name(e.kind));
  return 3;
}

/* ---- a vehicle in a chosen state ---- */

struct vehicle {
  struct crypto *crypto;
  struct key *key;
  struct receiver *receiver;
};

static int l_vehicle_gc(lua_State *L) {
  struct vehicle *v = lua_touserdata(L, 1);
  receiver_free(v->receiver);
  key_unref(v->key);
  crypto_unref(v->crypto);
  *v = (struct vehicle){0};
  return 0;
}

/* vehicle{ private =, client =, vin =, domain =, epoch =, clock_time =, highest =, used = } -> vehicle, at
 * time 0 */
static int l_vehicle(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct vehicle *v = lua_newuserdatauv(L, sizeof *v, 0);
  *v = (struct vehicle){0};
  luaL_setmetatable(L, "probe.vehicle");
  int box = lua_gettop(L);
  v->crypto = crypto(L);
  v->key = key_at(L, v->crypto, field(L, "private"));
  struct bytes vin = field(L, "vin"), client = field(L, "client"), epoch = field(L, "epoch");
  struct enrolled who = {.role = ROLE_OWNER};
  if (client.size != PUBLIC_SIZE || epoch.size != EPOCH_SIZE) return luaL_error(L, "bad sizes");
  memcpy(who.public, client.data, PUBLIC_SIZE);
  v->receiver = receiver_new(v->key, (const char *)vin.data, (enum domain)number(L, "domain"), &e);
  if (!v->receiver || !receiver_enroll(v->receiver, &who, 1, &e)) return fail(L, &e);
  receiver_begin_epoch(v->receiver, epoch.data, 0);
  receiver_restore(v->receiver, number(L, "clock_time"), 0,
                   (struct window){number(L, "highest"), number(L, "used"), true});
  lua_settop(L, box);
  return 1;
}

/* vehicle:open(bytes, { answer =, nonce =, answers =, fault = }) -> fault, info attached, reply, authentic,
 * plain text */
static int l_vehicle_open(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct vehicle *v = luaL_checkudata(L, 1, "probe.vehicle");
  struct bytes in = view(L, 2), answer = {NULL, 0}, nonce = {(const unsigned char *)"123456789012", 12};
  struct arena arena;
  struct arrival a;
  struct buf plain = BUF_INIT, reply = BUF_INIT;
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  receiver_open(v->receiver, in, 0, &arena, &a, &plain, &e);
  if (lua_istable(L, 3)) {
    lua_replace(L, 1);
    lua_pushvalue(L, 1);
    answer = field(L, "answer");
    if (field(L, "nonce").data) nonce = field(L, "nonce");
    if (number(L, "answers")) a.answers = number(L, "answers") - 1;
    if (number(L, "fault"))
      a.verdict.fault = number(L, "fault");
    else if (a.authentic && a.verdict.fault == FAULT_COMMAND)
      a.verdict.fault = 0;
  }
  receiver_reply(v->receiver, &a, answer, nonce.data, 0, &reply, &e);
  lua_pushinteger(L, a.verdict.fault);
  lua_pushboolean(L, a.verdict.info);
  push(L, buf_bytes(&reply));
  lua_pushboolean(L, a.authentic);
  push(L, buf_bytes(&plain));
  buf_free(&plain);
  buf_free(&reply);
  arrival_end(&a);
  arena_end(&arena);
  return 5;
}

/* ---- Schnorr ---- */

static int l_nonce(lua_State *L) {
  struct crypto *c = crypto(L);
  unsigned char k[SCALAR_SIZE];
  bool ok = view(L, 1).size == SCALAR_SIZE && view(L, 2).size == HASH_SIZE &&
            schnorr_nonce(c, view(L, 1).data, view(L, 2).data, k);
  crypto_unref(c);
  if (!ok) return lua_pushnil(L), 1;
  push(L, (struct bytes){k, sizeof k});
  return 1;
}

static int l_schnorr(lua_State *L) {
  struct crypto *c = crypto(L);
  struct key *k = key_at(L, c, view(L, 1));
  unsigned char s[SCHNORR_SIZE];
  bool ok = schnorr_sign(k, view(L, 2), s);
  key_unref(k);
  crypto_unref(c);
  if (!ok) return lua_pushnil(L), 1;
  push(L, (struct bytes){s, sizeof s});
  return 1;
}

static int l_schnorr_verify(lua_State *L) {
  struct crypto *c = crypto(L);
  lua_pushboolean(L, schnorr_verify(c, view(L, 1), view(L, 2), view(L, 3)));
  crypto_unref(c);
  return 1;
}

/* ---- memory ---- */

/* session_size(requests) -> bytes that a session holds after so many unanswered requests */
static int l_session_size(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct crypto *c = crypto(L);
  struct key *k = key_generate(c, &e);
  struct session *s = session_new(k, "5YJ30123456789ABC", DOMAIN_INFOTAINMENT, &e);
  struct message_random d = {{0}, {0}, {0}};
  struct buf out = BUF_INIT;
  for (int i = 0; i < luaL_optinteger(L, 1, 0); i++) session_handshake(s, &d, 0, &out, &e);
  lua_pushinteger(L, (lua_Integer)session_memory(s));
  buf_free(&out);
  session_free(s);
  key_unref(k);
  crypto_unref(c);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_probe_signing(lua_State *L) {
  static const luaL_Reg methods[] = {{"open", l_vehicle_open}, {"__gc", l_vehicle_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"pem", l_pem},
                                       {"derive", l_derive},
                                       {"hmac", l_hmac},
                                       {"gcm_open", l_gcm_open},
                                       {"request_metadata", l_request_metadata},
                                       {"response_metadata", l_response_metadata},
                                       {"info_metadata", l_info_metadata},
                                       {"items", l_items},
                                       {"window", l_window},
                                       {"update", l_update},
                                       {"state", l_state},
                                       {"expiry", l_expiry},
                                       {"never_taken", l_never_taken},
                                       {"fault_outcome", l_fault_outcome},
                                       {"role_may", l_role_may},
                                       {"info", l_info},
                                       {"envelope", l_envelope},
                                       {"read", l_read},
                                       {"read_answer", l_read_answer},
                                       {"vehicle", l_vehicle},
                                       {"nonce", l_nonce},
                                       {"schnorr", l_schnorr},
                                       {"schnorr_verify", l_schnorr_verify},
                                       {"session_size", l_session_size},
                                       {NULL, NULL}};
  luaL_newmetatable(L, "probe.vehicle");
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_newlib(L, functions);
  return 1;
}
