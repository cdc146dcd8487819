#include "signing/receiver.h"

#include "signing/wire/codec.h"

#include <stdlib.h>
#include <string.h>

struct verdict admit(const struct message *m, uint32_t domain, struct bytes epoch, uint32_t clock,
                     uint32_t highest) {
  if (m->signature != SIGNED_GCM && m->signature != SIGNED_HMAC)
    return (struct verdict){FAULT_PARAMETER, false};
  if (m->to_domain != domain) return (struct verdict){FAULT_DOMAIN, false};
  if (m->epoch.data && !bytes_equal(m->epoch, epoch)) return (struct verdict){FAULT_EPOCH, true};
  if (m->expires_at != 0 && m->expires_at < clock) return (struct verdict){FAULT_EXPIRED, true};
  if (m->expires_at > EPOCH_SECONDS) return (struct verdict){FAULT_PARAMETER, true};
  bool old = m->counter == 0 || m->counter < highest;
  bool long_lived = m->expires_at == 0 || m->expires_at - clock > 30;
  if (old && long_lived) return (struct verdict){FAULT_LIFETIME, true};
  return (struct verdict){FAULT_NONE, false};
}

/* ---- a receiver ---- */

struct enrolled_key {
  struct enrolled who;
  bool derived; /* the keys below are set: at the first message, because most enrolled keys send none */
  unsigned char shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
  uint64_t owner;
  struct window window;
};

struct receiver {
  struct crypto *crypto;
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
  bool has_epoch;
  unsigned char epoch[EPOCH_SIZE];
  double epoch_start;
  struct enrolled_key *keys; /* owned */
  size_t count;
};

struct receiver *receiver_new(struct key *k, const char *vin, enum domain domain, struct err *e) {
  struct receiver *r = calloc(1, sizeof *r);
  if (!r) return err_out_of_memory(e), NULL;
  r->key = key_ref(k);
  r->crypto = crypto_ref(key_crypto(k));
  memcpy(r->vin, vin, strnlen(vin, VIN_SIZE));
  r->domain = domain;
  return r;
}

static void forget_key(struct receiver *r, struct enrolled_key *k) {
  crypto_forget(r->crypto, k->owner);
  wipe(k, sizeof *k);
}

static void forget_keys(struct receiver *r) {
  for (size_t i = 0; i < r->count; i++) forget_key(r, &r->keys[i]);
  free(r->keys);
  r->keys = NULL;
  r->count = 0;
}

void receiver_free(struct receiver *r) {
  if (!r) return;
  forget_keys(r);
  key_unref(r->key);
  crypto_unref(r->crypto);
  wipe(r, sizeof *r);
  free(r);
}

static struct enrolled_key *find_key(struct receiver *r, struct bytes public) {
  for (size_t i = 0; i < r->count; i++)
    if (bytes_equal((struct bytes){r->keys[i].who.public, PUBLIC_SIZE}, public)) return &r->keys[i];
  return NULL;
}

bool receiver_enroll(struct receiver *r, const struct enrolled *keys, size_t count, struct err *e) {
  struct enrolled_key *fresh = calloc(count ? count : 1, sizeof *fresh);
  if (!fresh) return err_out_of_memory(e);
  for (size_t i = 0; i < count; i++) {
    struct enrolled_key *old = find_key(r, (struct bytes){keys[i].public, PUBLIC_SIZE});
    if (old)
      fresh[i] = *old, old->owner = 0;
    else
      fresh[i].window.open = true, fresh[i].owner = crypto_owner(r->crypto);
    fresh[i].who = keys[i];
  }
  forget_keys(r);
  r->keys = fresh;
  r->count = count;
  return true;
}

static struct bytes epoch_of(const struct receiver *r) {
  return (struct bytes){r->epoch, EPOCH_SIZE};
}

static uint32_t clock_of(const struct receiver *r, double now) {
  double passed = now - r->epoch_start;
  return passed > 0 ? (uint32_t)passed : 0;
}

bool receiver_epoch_due(const struct receiver *r, double now) {
  if (!r->has_epoch || now - r->epoch_start > EPOCH_SECONDS) return true;
  for (size_t i = 0; i < r->count; i++)
    if (r->keys[i].window.highest == UINT32_MAX) return true;
  return false;
}

void receiver_begin_epoch(struct receiver *r, const unsigned char epoch[EPOCH_SIZE], double now) {
  memcpy(r->epoch, epoch, EPOCH_SIZE);
  r->epoch_start = now;
  r->has_epoch = true;
  for (size_t i = 0; i < r->count; i++) r->keys[i].window = (struct window){0, 0, true};
}

void receiver_restore(struct receiver *r, uint32_t clock, double now, struct window w) {
  r->epoch_start = now - clock;
  for (size_t i = 0; i < r->count; i++) r->keys[i].window = w;
}

static bool derive_key(struct receiver *r, struct enrolled_key *k) {
  struct err ignored;
  err_clear(&ignored);
  if (!k->derived)
    k->derived = key_shared(r->key, (struct bytes){k->who.public, PUBLIC_SIZE}, k->shared, &ignored) &&
                 derive_keys(r->crypto, k->shared, k->command, k->info);
  return k->derived;
}

/* ---- messages ---- */

static bool authentic_hmac(struct receiver *r, const struct enrolled_key *k, const struct message *m,
                           struct bytes facts, struct buf *plain) {
  unsigned char tag[MAC_SIZE];
  bool ok = crypto_hmac(r->crypto, k->owner, k->command, facts, m->payload, tag) &&
            bytes_equal_secret((struct bytes){tag, MAC_SIZE}, m->tag);
  wipe(tag, sizeof tag);
  if (ok) buf_add(plain, m->payload.data, m->payload.size);
  return ok;
}

static bool authentic_gcm(struct receiver *r, const struct enrolled_key *k, const struct message *m,
                          struct bytes facts, struct buf *plain) {
  unsigned char aad[HASH_SIZE];
  return crypto_sha256(r->crypto, facts, aad) &&
         crypto_unseal(r->crypto, (struct bytes){k->shared, SHARED_SIZE}, m->nonce,
                       (struct bytes){aad, sizeof aad}, m->payload, m->tag, plain);
}

/* Step 10. The metadata always names this vehicle's own epoch, domain and VIN, not those of the message. */
static struct verdict authenticate(struct receiver *r, struct enrolled_key *k, const struct message *m,
                                   struct buf *plain) {
  struct request_facts f = {(enum method)m->signature,
                            (uint32_t)r->domain,
                            bytes_of(r->vin),
                            epoch_of(r),
                            m->expires_at,
                            m->counter,
                            m->flags};
  struct metadata metadata;
  struct bytes facts;
  if (m->signature == SIGNED_GCM && m->nonce.size != NONCE_SIZE)
    return (struct verdict){FAULT_IV_LENGTH, false};
  bool ok = m->kind == PAYLOAD_BYTES && derive_key(r, k) && metadata_request(&metadata, &f, &facts) &&
            (m->signature == SIGNED_HMAC ? authentic_hmac : authentic_gcm)(r, k, m, facts, plain);
  return ok ? (struct verdict){FAULT_NONE, false} : (struct verdict){FAULT_SIGNATURE, true};
}

/* Step 11. Counter 0 switches replay protection off; step 9 has limited the lifetime of such a message. */
static struct verdict use_counter(struct enrolled_key *k, uint32_t counter) {
  bool accepted = true;
  if (counter) k->window = window_use(k->window, counter, &accepted);
  return accepted ? (struct verdict){FAULT_NONE, false} : (struct verdict){FAULT_COUNTER, true};
}

/* Step 12 up to the point where the application decides. */
static uint32_t check_action(const struct receiver *r, enum role role, struct bytes payload,
                             struct arena *arena) {
  const char *action;
  if (!codec_action(r->domain, payload, arena, &action)) return FAULT_DECODING;
  if (!action) return FAULT_COMMAND;
  if (role_may(role, (uint32_t)r->domain, action)) return FAULT_NONE;
  return role == ROLE_SERVICE ? FAULT_SERVICE_KEY : FAULT_PRIVILEGES;
}

static struct verdict open_command(struct receiver *r, struct arrival *a, double now, struct arena *arena,
                                   struct buf *plain) {
  const struct message *m = &a->message;
  struct enrolled_key *k = a->signer;
  struct verdict v = admit(m, (uint32_t)r->domain, epoch_of(r), clock_of(r, now), k->window.highest);
  if (!v.fault) v = authenticate(r, k, m, plain);
  if (!v.fault) v = use_counter(k, m->counter);
  if (v.fault) return v;
  a->authentic = true;
  memcpy(a->shared, k->shared, SHARED_SIZE);
  a->hash_size = request_hash(a->hash, (uint32_t)r->domain, (enum method)m->signature, m->tag);
  return (struct verdict){check_action(r, k->who.role, buf_bytes(plain), arena), false};
}

/* The security domain sends its status and key list to any client: the only command without a signature. */
static bool open_request(const struct receiver *r, const struct message *m, struct arena *arena,
                         struct buf *plain) {
  const char *action = NULL;
  if (r->domain != DOMAIN_VCSEC || m->signed_by_anyone || m->kind != PAYLOAD_BYTES ||
      m->to_domain != DOMAIN_VCSEC)
    return false;
  if (!codec_action(r->domain, m->payload, arena, &action) || !action ||
      strcmp(action, "InformationRequest") != 0)
    return false;
  buf_add(plain, m->payload.data, m->payload.size);
  return true;
}

static struct verdict check_message(struct receiver *r, struct arrival *a, double now, struct arena *arena,
                                    struct buf *plain) {
  const struct message *m = &a->message;
  if (m->to_domain != DOMAIN_VCSEC && m->to_domain != DOMAIN_INFOTAINMENT)
    return (struct verdict){FAULT_DOMAIN, false};
  if (m->kind == PAYLOAD_HANDSHAKE) {
    a->handshake = true;
    a->signer = find_key(r, m->payload);
    if (m->to_domain != (uint32_t)r->domain) return (struct verdict){FAULT_DOMAIN, false};
    bool valid = key_accepts(r->key, m->payload);
    return (struct verdict){valid ? FAULT_NONE : FAULT_PARAMETER, valid};
  }
  if (open_request(r, m, arena, plain)) return (struct verdict){FAULT_NONE, false};
  if (!m->signer.data) return (struct verdict){FAULT_PARAMETER, false};
  a->signer = find_key(r, m->signer);
  if (!a->signer) return (struct verdict){FAULT_UNKNOWN_KEY, false};
  return open_command(r, a, now, arena, plain);
}

bool receiver_open(struct receiver *r, struct bytes in, double now, struct arena *arena, struct arrival *a,
                   struct buf *plain, struct err *e) {
  struct err unreadable;
  err_clear(&unreadable);
  memset(a, 0, sizeof *a);
  a->verdict.fault = FAULT_DECODING;
  if (!message_read(&a->message, in, arena, &unreadable)) return true;
  a->verdict = check_message(r, a, now, arena, plain);
  if (a->verdict.fault) buf_clear(plain);
  return buf_ok(plain) || err_out_of_memory(e);
}

/* ---- the answer ---- */

void arrival_end(struct arrival *a) {
  wipe(a, sizeof *a);
}

bool arrival_wants_nonce(const struct arrival *a) {
  return a->authentic && !a->verdict.info && a->message.flags & FLAG_ENCRYPT_RESPONSE;
}

/* Looked up again, because keys may have been enrolled since the message came. */
static struct enrolled_key *find_signer(struct receiver *r, const struct arrival *a) {
  return a->signer ? find_key(r, a->handshake ? a->message.payload : a->message.signer) : NULL;
}

static bool write_info(struct receiver *r, struct arrival *a, double now, struct message *m, struct buf *info,
                       unsigned char tag[MAC_SIZE]) {
  struct enrolled_key *k = find_signer(r, a);
  struct metadata metadata;
  struct bytes facts, vin = bytes_of(r->vin);
  bool known = k && derive_key(r, k);
  struct session_info i = {.status = INFO_KEY_NOT_PAIRED};
  if (known)
    i = (struct session_info){
        k->window.highest, clock_of(r, now), INFO_OK, {key_public(r->key), PUBLIC_SIZE}, epoch_of(r)};
  bool ok = session_info_write(&i, info);
  m->kind = PAYLOAD_SESSION_INFO;
  m->payload = buf_bytes(info);
  m->request_uuid = a->message.uuid;
  if (!known) return ok;
  m->signature = SIGNED_SESSION_INFO;
  m->tag = (struct bytes){tag, MAC_SIZE};
  return ok && a->message.uuid.size <= 255 &&
         metadata_session_info(&metadata, vin, a->message.uuid, &facts) &&
         crypto_hmac(r->crypto, 0, k->info, facts, m->payload, tag);
}

static bool seal(struct receiver *r, struct arrival *a, struct message *m, const unsigned char *nonce,
                 struct buf *sealed, unsigned char tag[GCM_TAG_SIZE]) {
  struct response_facts f = {
      (uint32_t)r->domain, bytes_of(r->vin), {a->hash, a->hash_size}, ++a->answers, 0, m->fault};
  struct metadata metadata;
  struct bytes facts;
  unsigned char aad[HASH_SIZE];
  bool ok = metadata_response(&metadata, &f, &facts) && crypto_sha256(r->crypto, facts, aad) &&
            crypto_seal(r->crypto, (struct bytes){a->shared, SHARED_SIZE}, nonce,
                        (struct bytes){aad, sizeof aad}, m->payload, sealed, tag);
  m->signature = SIGNED_RESPONSE;
  m->counter = f.counter;
  m->nonce = (struct bytes){nonce, NONCE_SIZE};
  m->tag = (struct bytes){tag, GCM_TAG_SIZE};
  m->payload = buf_bytes(sealed);
  return ok;
}

/* "Done": one message in infotainment, an empty answer in the security domain. */
static struct bytes plain_ok(const struct receiver *r) {
  static const unsigned char done[] = {0x0a, 0x00};
  return (struct bytes){done, r->domain == DOMAIN_INFOTAINMENT ? sizeof done : 0};
}

static void address_reply(const struct receiver *r, const struct arrival *a, struct message *m) {
  memset(m, 0, sizeof *m);
  m->to_address = a->message.from_address;
  m->from_domain = r->domain;
  if (r->domain != DOMAIN_VCSEC) m->request_uuid = a->message.uuid;
  m->fault = a->verdict.fault;
  m->status = m->fault ? STATUS_ERROR : STATUS_OK;
}

bool receiver_reply(struct receiver *r, struct arrival *a, struct bytes answer,
                    const unsigned char nonce[NONCE_SIZE], double now, struct buf *out, struct err *e) {
  struct message m;
  struct buf body = BUF_INIT;
  unsigned char tag[MAC_SIZE];
  bool ok = true;
  address_reply(r, a, &m);
  if (a->verdict.info) {
    ok = write_info(r, a, now, &m, &body, tag);
  } else {
    m.kind = m.fault ? PAYLOAD_NONE : PAYLOAD_BYTES;
    if (!m.fault) m.payload = answer.data ? answer : plain_ok(r);
    if (arrival_wants_nonce(a)) m.kind = PAYLOAD_BYTES, ok = seal(r, a, &m, nonce, &body, tag);
  }
  ok = ok && message_write(&m, out);
  buf_free(&body);
  return ok || err_set(e, KIND_service, "the answer could not be written");
}
