#include "signing/session.h"

#include "crypto/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct session_secrets { /* shared with one vehicle key */
  unsigned char vehicle[PUBLIC_SIZE];
  unsigned char shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
};

struct session {
  struct crypto *crypto;
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
  bool pinned;           /* secrets are set */
  bool encrypts_answers; /* the vehicle has encrypted one: it encrypts all that it is asked to */
  struct session_secrets secrets;
  uint64_t owner; /* of the keyed context */
  struct epoch_state state;
  struct pending_list sent;
};

struct session *session_new(struct key *k, const char *vin, enum domain domain, struct err *e) {
  struct session *s = calloc(1, sizeof *s);
  if (!s) return err_out_of_memory(e), NULL;
  s->key = key_ref(k);
  s->crypto = crypto_ref(key_crypto(k));
  memcpy(s->vin, vin, strnlen(vin, VIN_SIZE));
  s->domain = domain;
  s->owner = crypto_owner(s->crypto);
  return s;
}

void session_free(struct session *s) {
  if (!s) return;
  crypto_forget(s->crypto, s->owner);
  free(s->sent.list);
  key_unref(s->key);
  crypto_unref(s->crypto);
  wipe(s, sizeof *s);
  free(s);
}

size_t session_memory(const struct session *s) {
  return sizeof *s + s->sent.capacity * sizeof *s->sent.list;
}

/* When all counters are used, the vehicle begins a new epoch at the next handshake. */
bool session_ready(const struct session *s) {
  return s->state.known && s->state.counter < UINT32_MAX;
}

uint32_t session_counter(const struct session *s) {
  return s->state.counter;
}

void session_skip(struct session *s, uint32_t n) {
  if (UINT32_MAX - s->state.counter > n) s->state.counter += n;
}

void session_skip_stride(struct session *s) {
  enum {
    STRIDE = 64 /* counters: more than a process draws between two reads of the stored session */,
    PLACES = 64
  };
  struct err ignored;
  err_clear(&ignored);
  unsigned char place = 'A'; /* stays so when no random bytes can be read */
  crypto_random(s->crypto, &place, 1, &ignored);
  session_skip(s, STRIDE * (1 + (uint32_t)place % PLACES));
}

bool session_shared(const struct session *s) {
  return s->state.shared;
}

enum domain session_domain(const struct session *s) {
  return s->domain;
}

struct bytes session_vin(const struct session *s) {
  return bytes_of(s->vin);
}

double session_age(const struct session *s, double now) {
  return s->state.known ? fmax(now - s->state.confirmed, 0) : SESSION_LONG_AGO;
}

enum due session_due(const struct session *s, bool repeatable, double now) {
  if (!session_ready(s)) return DUE_BEGIN;
  bool trusted = repeatable || !s->state.shared || session_age(s, now) < TRUSTED_FOR;
  return trusted ? DUE_NOTHING : DUE_CONFIRM;
}

/* ---- handshake ---- */

static void address_message(const struct session *s, const struct message_random *d, struct message *m) {
  memset(m, 0, sizeof *m);
  m->to_domain = s->domain;
  m->from_address = (struct bytes){d->address, ADDRESS_SIZE};
  m->uuid = (struct bytes){d->uuid, UUID_SIZE};
}

bool session_handshake(struct session *s, const struct message_random *d, double now, struct buf *out,
                       struct err *e) {
  struct message m;
  address_message(s, d, &m);
  m.kind = PAYLOAD_HANDSHAKE;
  m.payload = (struct bytes){key_public(s->key), PUBLIC_SIZE};
  if (!pending_add(&s->sent, d, now, e)) return false;
  return message_write(&m, out) || err_out_of_memory(e);
}

static bool derive_secrets(const struct session *s, struct bytes public, struct session_secrets *k,
                           struct err *e) {
  if (!key_shared(s->key, public, k->shared, e)) return false;
  memcpy(k->vehicle, public.data, PUBLIC_SIZE);
  return derive_keys(s->crypto, k->shared, k->command, k->info) ||
         err_set(e, KIND_service, "OpenSSL derived no keys");
}

/* Computed over the bytes as they came: the same info written again may have other bytes than the vehicle
 * signed. */
static bool tag_is_right(const struct session *s, const struct session_secrets *k, const struct pending *r,
                         const struct message *m) {
  struct metadata metadata;
  struct bytes facts;
  unsigned char tag[MAC_SIZE];
  bool ok = metadata_session_info(&metadata, session_vin(s), (struct bytes){r->uuid, UUID_SIZE}, &facts) &&
            crypto_hmac(s->crypto, 0, k->info, facts, m->payload, tag) &&
            bytes_equal_secret((struct bytes){tag, MAC_SIZE}, m->tag);
  wipe(tag, sizeof tag);
  return ok;
}

static bool take_info(struct session *s, struct pending *r, const struct session_info *i,
                      const struct session_secrets *k, double now, struct err *e) {
  bool taken;
  if (s->pinned && k != &s->secrets) {
    err_reason(e, "vehicle_key_changed");
    return err_set(e, KIND_protocol,
                   "the vehicle has another key than before, as after a repair: begin a new session with it");
  }
  bool not_taken = never_taken(&r->message, i, now - r->sent);
  if (r->informed) { /* a copy of a session info that was taken already, or one for a copy of the message */
    r->not_taken = r->not_taken && not_taken;
    return true;
  }
  struct epoch_state next = epoch_update(s->state, i, now, &taken);
  if (!taken) return err_set(e, KIND_protocol, "the vehicle's session info is older than one already taken");
  s->state = next;
  if (k != &s->secrets) s->secrets = *k;
  s->pinned = r->informed = true;
  r->not_taken = not_taken;
  if (!not_taken && epoch_is(r->message.epoch, i->epoch)) s->state.shared = true;
  return true;
}

/* Takes the session info in a message. The checks have the order of doc/protocol.md#session-handshake, and
 * the session changes only after the tag was found right. */
static bool absorb_info(struct session *s, struct pending *r, const struct message *m, double now,
                        struct arena *a, struct err *e) {
  struct session_info i;
  struct session_secrets fresh;
  if (now - r->sent > INFO_LATENCY)
    return err_set(e, KIND_protocol, "the vehicle's session info came more than %d seconds after the request",
                   INFO_LATENCY);
  if (!session_info_read(&i, m->payload, a, e)) return false;
  if (i.status == INFO_KEY_NOT_PAIRED)
    return err_set(
        e, KIND_key_not_paired,
        "the vehicle does not know this key: the owner adds it at the address of client:pairing_url");
  if (i.status != INFO_OK)
    return err_set(e, KIND_protocol, "the vehicle's session info has the unknown status %u", i.status);
  if (i.epoch.size != EPOCH_SIZE)
    return err_set(e, KIND_protocol, "the vehicle's session info has no proper epoch");
  /* Another key than the pinned one may be named: the tag is checked first, then take_info refuses it. */
  bool same_key = s->pinned && bytes_equal((struct bytes){s->secrets.vehicle, PUBLIC_SIZE}, i.public);
  const struct session_secrets *k = same_key ? &s->secrets : &fresh;
  bool ok = (same_key || derive_secrets(s, i.public, &fresh, e)) &&
            (tag_is_right(s, k, r, m) ||
             err_set(e, KIND_protocol, "the vehicle's session info does not carry the right tag")) &&
            take_info(s, r, &i, k, now, e);
  wipe(&fresh, sizeof fresh);
  return ok;
}

bool session_accept(struct session *s, struct bytes in, double now, struct err *e) {
  struct arena a;
  struct message m;
  arena_start(&a, 4 * MESSAGE_LIMIT);
  struct pending *r = message_read(&m, in, &a, e) ? pending_find(&s->sent, s->domain, &m, e) : NULL;
  bool ok = false;
  if (r && m.kind == PAYLOAD_SESSION_INFO)
    ok = absorb_info(s, r, &m, now, &a, e);
  else if (r && m.fault)
    err_set_fault(e, m.fault, EVIDENCE_NONE);
  else if (r)
    err_set(e, KIND_protocol, "the answer to the handshake holds no session info");
  arena_end(&a);
  return ok;
}

/* ---- commands ---- */

/* Adds the tag to a filled message; METHOD_GCM also replaces the payload by the encrypted one. */
static bool authenticate(struct session *s, struct message *m, const struct request_facts *f,
                         const struct message_random *d, struct buf *sealed, unsigned char tag[MAC_SIZE]) {
  struct metadata metadata;
  struct bytes facts;
  unsigned char aad[HASH_SIZE];
  if (!metadata_request(&metadata, f, &facts)) return false;
  m->signature = (enum signature)f->method;
  m->tag = (struct bytes){tag, f->method == METHOD_HMAC ? MAC_SIZE : GCM_TAG_SIZE};
  if (f->method == METHOD_HMAC)
    return crypto_hmac(s->crypto, s->owner, s->secrets.command, facts, m->payload, tag);
  bool ok = crypto_sha256(s->crypto, facts, aad) &&
            crypto_seal(s->crypto, (struct bytes){s->secrets.shared, SHARED_SIZE}, d->nonce,
                        (struct bytes){aad, sizeof aad}, m->payload, sealed, tag);
  m->nonce = (struct bytes){d->nonce, NONCE_SIZE};
  m->payload = buf_bytes(sealed);
  return ok;
}

static bool sign_with(struct session *s, uint32_t counter, struct bytes payload, const struct sign_options *o,
                      const struct message_random *d, double now, struct buf *out, struct err *e) {
  struct message m;
  struct buf sealed = BUF_INIT;
  unsigned char tag[MAC_SIZE];
  struct pending *r = pending_add(&s->sent, d, now, e);
  if (!r) return false;
  if (counter > s->state.counter) s->state.counter = counter;
  struct request_facts f = {o->method,
                            (uint32_t)s->domain,
                            session_vin(s),
                            {s->state.epoch, EPOCH_SIZE},
                            epoch_expiry(&s->state, now, o->lifetime),
                            counter,
                            o->flags};
  address_message(s, d, &m);
  m.kind = PAYLOAD_BYTES;
  m.payload = payload;
  m.flags = f.flags;
  m.epoch = f.epoch;
  m.counter = f.counter;
  m.expires_at = f.expires_at;
  m.signer = (struct bytes){key_public(s->key), PUBLIC_SIZE};
  bool ok = authenticate(s, &m, &f, d, &sealed, tag) && message_write(&m, out);
  memcpy(r->message.epoch, s->state.epoch, EPOCH_SIZE);
  r->message.counter = f.counter;
  r->wants_encryption = o->flags & FLAG_ENCRYPT_RESPONSE;
  if (ok)
    r->hash_size = (unsigned char)request_hash(r->hash, (uint32_t)s->domain, f.method, m.tag);
  else
    s->sent.count--;
  buf_free(&sealed);
  return ok || err_set(e, KIND_service, "the command could not be signed");
}

bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct message_random *d, double now, struct buf *out, struct err *e) {
  if (session_ready(s)) return sign_with(s, s->state.counter + 1, payload, o, d, now, out, e);
  e->outcome = OUTCOME_NOT_SENT;
  if (s->state.known)
    return err_set(e, KIND_protocol, "all counters of this session are used: make a new handshake");
  return err_set(e, KIND_invalid,
                 "the session has not begun: send handshake() and give the answer to accept()");
}

bool session_signs_again(const struct session *s, struct bytes id) {
  const struct pending *r = pending_of(&s->sent, id);
  return r && r->hash_size && r->not_taken && s->state.known &&
         epoch_is(r->message.epoch, (struct bytes){s->state.epoch, EPOCH_SIZE});
}

bool session_sign_again(struct session *s, struct bytes id, struct bytes payload,
                        const struct sign_options *o, const struct message_random *d, double now,
                        struct buf *out, struct err *e) {
  if (session_signs_again(s, id))
    return sign_with(s, pending_of(&s->sent, id)->message.counter, payload, o, d, now, out, e);
  e->outcome = OUTCOME_NOT_SENT;
  return err_set(e, KIND_protocol, "the session cannot sign that message again");
}

/* ---- answers to commands ---- */

static bool unseal(struct session *s, const struct pending *r, const struct message *m, struct buf *payload) {
  struct response_facts f = {m->from_domain, session_vin(s), {r->hash, r->hash_size},
                             m->counter,     m->flags,       m->fault};
  struct metadata metadata;
  struct bytes facts;
  unsigned char aad[HASH_SIZE];
  return s->pinned && metadata_response(&metadata, &f, &facts) && crypto_sha256(s->crypto, facts, aad) &&
         crypto_unseal(s->crypto, (struct bytes){s->secrets.shared, SHARED_SIZE}, m->nonce,
                       (struct bytes){aad, sizeof aad}, m->payload, m->tag, payload);
}

/* Each step answers one question about the message; the order of the steps is the public order of errors. */
static bool open_answer(struct session *s, struct pending *r, const struct message *m, double now,
                        struct arena *arena, struct answer *a, struct buf *payload, struct err *e) {
  bool encrypted = m->signature == SIGNED_RESPONSE;
  if (!r->hash_size) return err_set(e, KIND_protocol, "this answers a handshake: give it to accept()");

  /* 1. Session info comes with a fault only. */
  if (m->kind == PAYLOAD_SESSION_INFO) {
    a->resynced = absorb_info(s, r, m, now, arena, e);
    if (!a->resynced && e->reason[0]) return e->fault = (int)m->fault, false;
    if (!m->fault) return err_set(e, KIND_protocol, "the answer holds session info and no answer");
  } else if (encrypted) { /* 2. An encrypted answer is authentic, and its counter is new. */
    bool fresh;
    if (!unseal(s, r, m, payload)) return err_set(e, KIND_protocol, "the vehicle's answer is not authentic");
    struct window next = window_use(r->answer_counters, m->counter, &fresh);
    if (!fresh)
      return buf_clear(payload), err_set(e, KIND_protocol, "the vehicle's answer came a second time");
    r->answer_counters = next;
    s->state.confirmed = now;
    s->encrypts_answers = a->authenticated = true;
  }

  /* 3. A fault: whether the command was carried out depends on what session info proves. */
  if (m->fault) {
    enum evidence evidence = !a->resynced ? EVIDENCE_NONE : r->not_taken ? EVIDENCE_PROOF : EVIDENCE_AGAINST;
    buf_clear(payload);
    return err_set_fault(e, m->fault, evidence);
  }

  /* 4. Clear text: firmware before 2024.38 sends nothing else, and then the status is all there is. */
  if (!encrypted && s->encrypts_answers && r->wants_encryption)
    return err_set(e, KIND_protocol,
                   "the vehicle encrypts its answers, and this one came in clear text: "
                   "the command may have been carried out");
  if (!encrypted && m->kind == PAYLOAD_HANDSHAKE)
    return err_set(e, KIND_protocol, "the answer is a handshake");
  if (!encrypted && m->status != STATUS_OK) {
    e->outcome = OUTCOME_REFUSED;
    if (m->status == STATUS_WAIT) return err_set(e, KIND_busy, "the vehicle is busy: ask again shortly");
    return err_set(e, KIND_refused, "the vehicle reports an error without a reason");
  }
  if (!encrypted) buf_add(payload, m->payload.data, m->payload.size);
  e->outcome = OUTCOME_NONE;
  return true;
}

bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e) {
  struct arena arena;
  struct message m;
  *a = (struct answer){0};
  e->outcome = OUTCOME_UNKNOWN;
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  struct pending *r = message_read(&m, in, &arena, e) ? pending_find(&s->sent, s->domain, &m, e) : NULL;
  bool ok = false;
  if (r) {
    memcpy(a->id, r->uuid, UUID_SIZE);
    a->matched = true;
    a->status = m.status;
    ok = open_answer(s, r, &m, now, &arena, a, payload, e);
  }
  arena_end(&arena);
  const struct fault *fault = e->fault ? fault_row((uint32_t)e->fault) : NULL;
  a->stale = !ok && !a->resynced && fault && fault->resync;
  a->final = !ok && e->fault && fault_is_final((uint32_t)e->fault);
  return ok && (buf_ok(payload) || err_out_of_memory(e));
}

/* ---- the record for the store ---- */

enum { EXPORT_VERSION = 2, EXPORT_FIXED = 3 + VIN_SIZE + PUBLIC_SIZE + EPOCH_SIZE + 4 + 4 + 8 + 8 + 8 };

static void put_u64(struct buf *b, uint64_t v) {
  buf_u32be(b, (uint32_t)(v >> 32));
  buf_u32be(b, (uint32_t)v);
}

static uint64_t milliseconds(double seconds) {
  return seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds * 1000) : 0;
}

/* The tag proves that the holder of the private key wrote the record. */
static bool export_tag(const struct session *s, struct bytes state, unsigned char tag[MAC_SIZE]) {
  unsigned char scalar[SCALAR_SIZE], own[MAC_SIZE];
  bool ok = key_scalar(s->key, scalar) &&
            crypto_hmac_once(s->crypto, (struct bytes){scalar, SCALAR_SIZE}, bytes_of("fleet session state"),
                             own) &&
            crypto_hmac_once(s->crypto, (struct bytes){own, MAC_SIZE}, state, tag);
  wipe(scalar, sizeof scalar);
  wipe(own, sizeof own);
  return ok;
}

bool session_export(const struct session *s, uint32_t ahead, double now, double wall, struct buf *out,
                    struct err *e) {
  unsigned char tag[MAC_SIZE];
  if (!s->state.known)
    return err_set(e, KIND_invalid, "the session has not begun: there is nothing to export");
  uint32_t left = UINT32_MAX - s->state.counter;
  size_t start = out->size;
  buf_put(out, EXPORT_VERSION);
  buf_put(out, (unsigned char)s->domain);
  buf_put(out, (unsigned char)(s->state.shared | s->encrypts_answers << 1));
  buf_add(out, s->vin, VIN_SIZE);
  buf_add(out, s->secrets.vehicle, PUBLIC_SIZE);
  buf_add(out, s->state.epoch, EPOCH_SIZE);
  buf_u32be(out, s->state.counter + (ahead < left ? ahead : left));
  buf_u32be(out, s->state.clock_time);
  put_u64(out, milliseconds(now - s->state.epoch_start));
  put_u64(out, milliseconds(wall));
  put_u64(out, milliseconds(fmin(session_age(s, now), SESSION_LONG_AGO)));
  if (!buf_ok(out)) return err_out_of_memory(e);
  if (!export_tag(s, (struct bytes){out->data + start, out->size - start}, tag))
    return err_set(e, KIND_service, "the session could not be exported");
  buf_add(out, tag, sizeof tag);
  return buf_ok(out) || err_out_of_memory(e);
}

struct reader {
  const unsigned char *at;
};

static const unsigned char *take(struct reader *r, size_t size) {
  const unsigned char *from = r->at;
  r->at += size;
  return from;
}

static uint64_t take_number(struct reader *r, size_t size) {
  uint64_t v = 0;
  for (size_t i = 0; i < size; i++) v = v << 8 | *take(r, 1);
  return v;
}

static double take_seconds(struct reader *r) {
  return (double)take_number(r, 8) / 1000;
}

static bool is_own_state(const struct session *s, struct bytes in) {
  unsigned char tag[MAC_SIZE];
  if (in.size != EXPORT_FIXED + MAC_SIZE) return false;
  return export_tag(s, (struct bytes){in.data, EXPORT_FIXED}, tag) &&
         bytes_equal_secret((struct bytes){tag, MAC_SIZE}, (struct bytes){in.data + EXPORT_FIXED, MAC_SIZE});
}

/* A wall clock that shows an earlier time than that of saving is wrong. Then no time counts as passed, and
 * the session as long unconfirmed. */
static void set_times(struct epoch_state *s, struct reader *r, double now, double wall) {
  double vehicle = take_seconds(r), saved = take_seconds(r), age = take_seconds(r);
  double passed = wall > saved ? wall - saved : 0;
  s->epoch_start = now - vehicle - passed;
  s->confirmed = now - (wall < saved ? SESSION_LONG_AGO : age + passed);
}

bool session_import(struct session *s, struct bytes in, double now, double wall) {
  struct reader r = {in.data};
  struct session_secrets k;
  struct err ignored;
  err_clear(&ignored);
  if (!is_own_state(s, in) || take_number(&r, 1) != EXPORT_VERSION ||
      take_number(&r, 1) != (uint64_t)s->domain)
    return false;
  uint64_t flags = take_number(&r, 1);
  struct epoch_state state = {.known = true, .shared = flags & 1};
  if (memcmp(take(&r, VIN_SIZE), s->vin, VIN_SIZE) != 0) return false;
  struct bytes vehicle = {take(&r, PUBLIC_SIZE), PUBLIC_SIZE};
  if (!derive_secrets(s, vehicle, &k, &ignored)) return false;
  memcpy(state.epoch, take(&r, EPOCH_SIZE), EPOCH_SIZE);
  state.counter = (uint32_t)take_number(&r, 4);
  state.clock_time = (uint32_t)take_number(&r, 4);
  set_times(&state, &r, now, wall);
  s->secrets = k;
  s->state = state;
  s->pinned = true;
  s->encrypts_answers = flags & 2;
  crypto_forget(s->crypto, s->owner);
  wipe(&k, sizeof k);
  return true;
}
