/* The signing core with an allocator that gives up: struggle(n) lets n allocations succeed and refuses the
 * rest. Whatever happens, nothing may be lost, used after it was released, or taken for a success. Only this
 * module's own copy of the core allocates here; OpenSSL goes on with the system's allocator. */
#include "refusing.h"

#include "bind/lua/versions.h"
#include "signing/wire/command_result.h"
#include "signing/wire/codec.h"
#include "signing/jws.h"
#include "signing/wire/reflect.h"
#include "signing/receiver.h"
#include "signing/session.h"

#include <string.h>

static const char vin[] = "5YJ30123456789ABC";

struct world {
  struct crypto *crypto;
  struct key *client, *vehicle;
  struct session *session;
  struct receiver *receiver;
};

static void world_free(struct world *w) {
  session_free(w->session);
  receiver_free(w->receiver);
  key_unref(w->client);
  key_unref(w->vehicle);
  crypto_unref(w->crypto);
}

static bool world_new(struct world *w, struct err *e) {
  struct enrolled who = {.role = ROLE_OWNER};
  bool ok = (w->crypto = crypto_new(e)) && (w->client = key_generate(w->crypto, e)) &&
            (w->vehicle = key_generate(w->crypto, e)) &&
            (w->session = session_new(w->client, vin, DOMAIN_INFOTAINMENT, e)) &&
            (w->receiver = receiver_new(w->vehicle, vin, DOMAIN_INFOTAINMENT, e));
  if (!ok) return false;
  memcpy(who.public, key_public(w->client), PUBLIC_SIZE);
  if (!receiver_enroll(w->receiver, &who, 1, e)) return false;
  receiver_begin_epoch(w->receiver, who.public, 0);
  return true;
}

static bool answer_to(struct world *w, struct bytes message, struct buf *reply, struct err *e) {
  struct arena arena;
  struct arrival a;
  struct buf plain = BUF_INIT;
  unsigned char nonce[NONCE_SIZE] = {1};
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  bool ok = receiver_open(w->receiver, message, 0, &arena, &a, &plain, e) &&
            receiver_reply(w->receiver, &a, (struct bytes){NULL, 0}, nonce, 0, reply, e);
  arrival_end(&a);
  arena_end(&arena);
  buf_free(&plain);
  return ok;
}

static bool shake_hands(struct world *w, struct err *e) {
  struct message_random d = {{1}, {2}, {3}};
  struct buf out = BUF_INIT, reply = BUF_INIT;
  bool ok = session_handshake(w->session, &d, 0, &out, e) && answer_to(w, buf_bytes(&out), &reply, e) &&
            session_accept(w->session, buf_bytes(&reply), 0, e);
  buf_free(&out);
  buf_free(&reply);
  return ok;
}

static bool command(struct world *w, enum method method, struct err *e) {
  struct message_random d = {{4}, {(unsigned char)method}, {6}};
  struct sign_options o = {method, 15, FLAG_ENCRYPT_RESPONSE};
  struct value values[2] = {{0}, {.given = true, .number = 80}};
  struct buf payload = BUF_INIT, out = BUF_INIT, reply = BUF_INIT, answer = BUF_INIT;
  struct answer a;
  bool ok = codec_encode(command_row("set_charge_limit"), values, 0, &payload, e) &&
            session_sign(w->session, buf_bytes(&payload), &o, &d, 0, &out, e) &&
            answer_to(w, buf_bytes(&out), &reply, e) &&
            session_open(w->session, buf_bytes(&reply), 0, &a, &answer, e);
  if (ok) {
    struct answer_facts f = {DOMAIN_INFOTAINMENT, buf_bytes(&answer), a.authenticated, a.status};
    ok = answer_read(&f, e);
  }
  buf_free(&payload);
  buf_free(&out);
  buf_free(&reply);
  buf_free(&answer);
  return ok;
}

static bool texts(struct world *w, struct err *e) {
  struct buf state = BUF_INIT, pem = BUF_INIT, token = BUF_INIT, json = BUF_INIT;
  struct key *again = NULL;
  bool ok = session_export(w->session, 0, 0, 0, &state, e) &&
            session_import(w->session, buf_bytes(&state), 0, 0) &&
            key_private_pem(w->client, (struct bytes){NULL, 0}, &pem, e) &&
            (again = key_parse(w->crypto, buf_bytes(&pem), (struct bytes){NULL, 0}, e)) &&
            jws_sign(again, bytes_of("{}"), &token, e) &&
            members_json("CarServer.Action", bytes_of("\x12\x04\x52\x02\x08\x01"), false, &json, e);
  key_unref(again);
  buf_free(&state);
  buf_free(&pem);
  buf_free(&token);
  buf_free(&json);
  return ok;
}

/* struggle(n) -> whether all went well */
static int l_struggle(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct world w = {0};
  allocations_allowed = (long)luaL_checkinteger(L, 1);
  bool ok = world_new(&w, &e) && shake_hands(&w, &e) && command(&w, METHOD_HMAC, &e) &&
            command(&w, METHOD_GCM, &e) && texts(&w, &e);
  allocations_allowed = -1;
  world_free(&w);
  lua_pushboolean(L, ok);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_probe_memory(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_struggle);
  lua_setfield(L, -2, "struggle");
  return 1;
}
