/* A stranger between client and vehicle: any bytes to either, and any change to true messages. Nothing that
 * was changed is taken for true, no command runs twice, and the session goes on working. The first byte
 * chooses, the next ones are used. */
#include "signing/receiver.h"
#include "signing/session.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static const char vin[] = "5YJ30123456789ABC";
static const unsigned char honk[] = {0x12, 0x03, 0xda, 0x01, 0x00};

static struct world {
  struct crypto *crypto;
  struct key *client, *vehicle;
} world;

static void begin_world(void) {
  if (world.crypto) return;
  world.crypto = crypto_new(NULL);
  world.client = key_generate(world.crypto, NULL);
  world.vehicle = key_generate(world.crypto, NULL);
}

static struct receiver *new_receiver(void) {
  struct enrolled who = {.role = ROLE_OWNER};
  struct receiver *r = receiver_new(world.vehicle, vin, DOMAIN_INFOTAINMENT, NULL);
  memcpy(who.public, key_public(world.client), PUBLIC_SIZE);
  require(r && receiver_enroll(r, &who, 1, NULL));
  receiver_begin_epoch(r, who.public + 1, 0);
  return r;
}

/* Handles a message; true when a command was accepted. */
static bool handle(struct receiver *r, struct bytes in, struct buf *reply) {
  static const unsigned char nonce[NONCE_SIZE] = {7};
  struct arena arena;
  struct arrival a;
  struct buf plain = BUF_INIT;
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  require(receiver_open(r, in, 1, &arena, &a, &plain, NULL));
  require(receiver_reply(r, &a, (struct bytes){NULL, 0}, nonce, 1, reply, NULL));
  bool accepted = a.authentic;
  if (accepted) require(bytes_equal(buf_bytes(&plain), (struct bytes){honk, sizeof honk}));
  buf_free(&plain);
  arrival_end(&a);
  arena_end(&arena);
  return accepted;
}

static void sign(struct session *s, enum method method, struct buf *out) {
  static uint32_t n;
  struct message_random d = {{0}, {0}, {0}};
  n++;
  memcpy(d.address, &n, sizeof n);
  memcpy(d.uuid, &n, sizeof n);
  memcpy(d.nonce, &n, sizeof n);
  struct sign_options o = {method, 15, FLAG_ENCRYPT_RESPONSE};
  struct err e;
  err_clear(&e);
  require(session_sign(s, (struct bytes){honk, sizeof honk}, &o, &d, 1, out, &e));
}

static void begin(struct session *s, struct receiver *r) {
  struct message_random d = {{200}, {200, 1}, {0}};
  struct buf out = BUF_INIT, reply = BUF_INIT;
  struct err e;
  err_clear(&e);
  require(session_handshake(s, &d, 1, &out, &e));
  handle(r, buf_bytes(&out), &reply);
  require(session_accept(s, buf_bytes(&reply), 1, &e));
  buf_free(&out);
  buf_free(&reply);
}

/* Changes the bytes of a true message as the input says; true when anything is different afterwards. */
static bool tamper(struct buf *m, const uint8_t *data, size_t size) {
  struct buf before = BUF_INIT;
  buf_add(&before, m->data, m->size);
  for (size_t i = 0; i + 2 < size && m->size; i += 3)
    m->data[(size_t)(data[i] << 8 | data[i + 1]) % m->size] ^= data[i + 2];
  if (size % 3 == 1 && m->size) m->size -= data[size - 1] % m->size;
  bool changed = !bytes_equal(buf_bytes(&before), buf_bytes(m));
  buf_free(&before);
  return changed;
}

static bool open_answer(struct session *s, struct bytes in, struct answer *a) {
  struct err e;
  err_clear(&e);
  struct buf payload = BUF_INIT;
  bool ok = session_open(s, in, 1, a, &payload, &e);
  if (!ok) require(e.kind != KIND_none && e.outcome != OUTCOME_NONE);
  buf_free(&payload);
  return ok;
}

static void works(struct session *s, struct receiver *r) {
  struct buf out = BUF_INIT, reply = BUF_INIT;
  struct answer a;
  sign(s, METHOD_HMAC, &out);
  require(handle(r, buf_bytes(&out), &reply));
  require(open_answer(s, buf_bytes(&reply), &a) && a.authenticated);
  buf_free(&out);
  buf_free(&reply);
}

/* Whether the client would take this answer for a proof that its command was not carried out. */
static bool proves_refusal(struct session *s, struct bytes in) {
  struct err e;
  err_clear(&e);
  struct buf payload = BUF_INIT;
  struct answer a;
  bool ok = session_open(s, in, 1, &a, &payload, &e);
  buf_free(&payload);
  return !ok && a.resynced && e.outcome == OUTCOME_REFUSED;
}

/* A true message and a changed copy of it, in either order. What no tag covers may change, such as the
 * address; the command still runs once, and no answer to the second proves that it did not. */
static void to_vehicle(struct session *s, struct receiver *r, const uint8_t *data, size_t size) {
  struct buf out = BUF_INIT, reply = BUF_INIT, changed = BUF_INIT;
  sign(s, data[0] & 1 ? METHOD_GCM : METHOD_HMAC, &out);
  buf_add(&changed, out.data, out.size);
  tamper(&changed, data + 1, size - 1);
  bool true_first = data[0] & 4;
  bool first = handle(r, buf_bytes(true_first ? &out : &changed), &reply);
  buf_clear(&reply);
  bool second = handle(r, buf_bytes(true_first ? &changed : &out), &reply);
  require(first + second == 1);
  if (first) require(!proves_refusal(s, buf_bytes(&reply)));
  buf_free(&out);
  buf_free(&reply);
  buf_free(&changed);
}

static void to_client(struct session *s, struct receiver *r, const uint8_t *data, size_t size) {
  struct buf out = BUF_INIT, reply = BUF_INIT, changed = BUF_INIT;
  struct answer a;
  sign(s, METHOD_HMAC, &out);
  handle(r, buf_bytes(&out), &reply);
  buf_add(&changed, reply.data, reply.size);
  tamper(&changed, data + 1, size - 1);
  bool first = open_answer(s, buf_bytes(&changed), &a);
  bool authentic = first && a.authenticated;
  bool second = open_answer(s, buf_bytes(&reply), &a);
  require(authentic + second == 1);
  buf_free(&out);
  buf_free(&reply);
  buf_free(&changed);
}

static void any_bytes(struct session *s, struct receiver *r, struct bytes in) {
  struct buf reply = BUF_INIT;
  struct answer a;
  struct err e;
  err_clear(&e);
  require(!handle(r, in, &reply));
  buf_free(&reply);
  session_accept(s, in, 1, &e);
  if (open_answer(s, in, &a)) require(!a.authenticated);
  session_import(s, in, 1, 1);
}

/* One session for all inputs: a key agreement for each would leave time for little else. It has to work after
 * every one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct receiver *r;
  static struct session *s;
  if (size < 2) return 0;
  begin_world();
  if (!r) r = new_receiver();
  if (!s) begin(s = session_new(world.client, vin, DOMAIN_INFOTAINMENT, NULL), r);
  if (data[0] % 3 == 0)
    to_vehicle(s, r, data, size);
  else if (data[0] % 3 == 1)
    to_client(s, r, data, size);
  else
    any_bytes(s, r, (struct bytes){data + 1, size - 1});
  works(s, r);
  return 0;
}
