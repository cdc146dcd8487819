#include "signing/session.h"

#include "signing/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_AGO 1e9 /* s */

/* ---- decisions ---- */

static bool is_epoch(const unsigned char *own, struct bytes epoch) {
  return epoch.size == EPOCH_SIZE && memcmp(own, epoch.data, EPOCH_SIZE) == 0;
}

static bool older(const struct session_state *s, const struct session_info *i) {
  if (s->known && is_epoch(s->epoch, i->epoch)) return i->clock_time < s->clock_time;
  return s->has_past && is_epoch(s->past_epoch, i->epoch) && i->clock_time < s->past_clock;
}

static struct session_state enter_epoch(struct session_state s, const struct session_info *i) {
  if (s.known) {
    s.has_past = true;
    memcpy(s.past_epoch, s.epoch, EPOCH_SIZE);
    s.past_clock = s.clock_time;
  }
  memcpy(s.epoch, i->epoch.data, EPOCH_SIZE);
  s.counter = i->counter;
  return s;
}

struct session_state session_update(struct session_state s, const struct session_info *i, double now,
                                    bool *taken) {
  *taken = i->epoch.size == EPOCH_SIZE && !older(&s, i);
  if (!*taken) return s;
  if (s.known && i->counter > (is_epoch(s.epoch, i->epoch) ? s.counter : 0)) s.shared = true;
  if (!s.known || !is_epoch(s.epoch, i->epoch)) s = enter_epoch(s, i);
  if (i->counter > s.counter) s.counter = i->counter;
  s.clock_time = i->clock_time;
  s.zero = now - i->clock_time;
  s.confirmed = now;
  s.known = true;
  return s;
}

uint32_t session_expiry(const struct session_state *s, double now, double lifetime) {
  double at = floor(now - s->zero + lifetime);
  if (!(at >= 1)) return 1;
  return at > EPOCH_SECONDS ? EPOCH_SECONDS : (uint32_t)at;
}

bool never_taken(const struct stamp *m, const struct session_info *i, double passed) {
  if (!is_epoch(m->epoch, i->epoch)) return i->clock_time > passed;
  return i->counter < m->counter;
}

enum outcome fault_outcome(const struct fault *row, enum evidence evidence) {
  if (!row || evidence == EVIDENCE_AGAINST) return OUTCOME_UNKNOWN;
  if (row->resync) return evidence == EVIDENCE_PROOF ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
  return row->outcome;
}

const struct fault *fault_row(uint32_t number) {
  for (const struct fault *f = fault_rows; f->name; f++)
    if ((uint32_t)f->number == number) return f;
  return NULL;
}

bool fault_is_final(uint32_t number) {
  const struct fault *row = fault_row(number);
  return number && (!row || row->final);
}

size_t request_hash(unsigned char hash[1 + MAC_SIZE], uint32_t domain, enum method method, struct bytes tag) {
  size_t size = tag.size < MAC_SIZE ? tag.size : MAC_SIZE;
  if (domain == DOMAIN_VCSEC && size > 16) size = 16;
  hash[0] = (unsigned char)method;
  memcpy(hash + 1, tag.data, size);
  return size + 1;
}

bool session_keys(struct crypto *c, const unsigned char shared[SHARED_SIZE], unsigned char command[MAC_SIZE],
                  unsigned char info[MAC_SIZE]) {
  struct bytes k = {shared, SHARED_SIZE};
  return crypto_hmac_once(c, k, bytes_of("authenticated command"), command) &&
         crypto_hmac_once(c, k, bytes_of("session info"), info);
}

/* ---- a session ---- */

struct request { /* sent, its answers may still come */
  unsigned char uuid[UUID_SIZE], address[ADDRESS_SIZE];
  unsigned char hash[1 + MAC_SIZE];
  unsigned char hash_size; /* 0: a handshake */
  bool informed;           /* its session info was taken */
  bool untaken;            /* session info proved that no copy of it was taken */
  struct stamp stamp;
  struct window answers;
  double sent;
};

struct secrets { /* of one vehicle key */
  unsigned char vehicle[PUBLIC_SIZE];
  unsigned char shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
};

struct session {
  struct crypto *crypto;
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
  bool pinned; /* secrets are set */
  struct secrets secrets;
  uint64_t owner; /* of the keyed context */
  struct session_state state;
  struct request *requests; /* owned, oldest first */
  size_t count, capacity;
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
  free(s->requests);
  key_unref(s->key);
  crypto_unref(s->crypto);
  wipe(s, sizeof *s);
  free(s);
}

size_t session_memory(const struct session *s) {
  return sizeof *s + s->capacity * sizeof *s->requests;
}

/* Without a counter left only a handshake can help: the vehicle begins a new epoch then. */
bool session_ready(const struct session *s) {
  return s->state.known && s->state.counter < UINT32_MAX;
}

uint32_t session_counter(const struct session *s) {
  return s->state.counter;
}

void session_skip(struct session *s, uint32_t n) {
  if (UINT32_MAX - s->state.counter > n) s->state.counter += n;
}

bool session_shared(const struct session *s) {
  return s->state.shared;
}

double session_age(const struct session *s, double now) {
  return s->state.known ? fmax(now - s->state.confirmed, 0) : LONG_AGO;
}

static struct bytes vin_of(const struct session *s) {
  return bytes_of(s->vin);
}

/* ---- requests ---- */

static bool resize(struct session *s, size_t capacity) {
  struct request *r = realloc(s->requests, capacity * sizeof *r);
  if (r) s->requests = r, s->capacity = capacity;
  return r != NULL;
}

static void drop_oldest(struct session *s, size_t n) {
  if (n == 0) return;
  s->count -= n;
  memmove(s->requests, s->requests + n, s->count * sizeof *s->requests);
}

static void drop_expired(struct session *s, double now) {
  size_t n = 0;
  while (n < s->count && now - s->requests[n].sent > REQUEST_LIFE) n++;
  drop_oldest(s, n);
  if (s->capacity > 4 && s->count <= 4) resize(s, 4);
}

static struct request *add_request(struct session *s, const struct draws *d, double now, struct err *e) {
  drop_expired(s, now);
  if (s->count == REQUESTS_KEPT) drop_oldest(s, 1);
  if (s->count == s->capacity && !resize(s, s->capacity ? s->capacity * 2 : 2))
    return err_out_of_memory(e), NULL;
  struct request *r = &s->requests[s->count++];
  memset(r, 0, sizeof *r);
  memcpy(r->uuid, d->uuid, UUID_SIZE);
  memcpy(r->address, d->address, ADDRESS_SIZE);
  r->sent = now;
  return r;
}

static bool is(const unsigned char *own, size_t size, struct bytes b) {
  return bytes_equal((struct bytes){own, size}, b);
}

/* By routing address always, by uuid when the answer has one. The security domain mostly has none.
 */
static struct request *find_request(struct session *s, const struct message *m, struct err *e) {
  if (m->from_domain != (uint32_t)s->domain)
    return err_set(e, KIND_protocol, "the answer comes from another domain than the one asked"), NULL;
  for (size_t i = s->count; i-- > 0;) {
    struct request *r = &s->requests[i];
    if (!is(r->address, ADDRESS_SIZE, m->to_address)) continue;
    if (m->request_uuid.data && !is(r->uuid, UUID_SIZE, m->request_uuid)) continue;
    return r;
  }
  return err_set(e, KIND_protocol, "the answer belongs to no request that this session made lately"), NULL;
}

static void address_request(const struct session *s, const struct draws *d, struct message *m) {
  memset(m, 0, sizeof *m);
  m->to_domain = s->domain;
  m->from_address = (struct bytes){d->address, ADDRESS_SIZE};
  m->uuid = (struct bytes){d->uuid, UUID_SIZE};
}

/* ---- handshake ---- */

bool session_handshake(struct session *s, const struct draws *d, double now, struct buf *out, struct err *e) {
  struct message m;
  address_request(s, d, &m);
  m.kind = PAYLOAD_HANDSHAKE;
  m.payload = (struct bytes){key_public(s->key), PUBLIC_SIZE};
  if (!add_request(s, d, now, e)) return false;
  return message_write(&m, out) || err_out_of_memory(e);
}

static bool derive(const struct session *s, struct bytes public, struct secrets *k, struct err *e) {
  if (!key_shared(s->key, public, k->shared, e)) return false;
  memcpy(k->vehicle, public.data, PUBLIC_SIZE);
  return session_keys(s->crypto, k->shared, k->command, k->info) ||
         err_set(e, KIND_service, "OpenSSL derived no keys");
}

/* Over the bytes as they came: a message written anew might differ from what the vehicle signed. */
static bool tag_is_right(const struct session *s, const struct secrets *k, const struct request *r,
                         const struct message *m) {
  struct metadata metadata;
  struct bytes facts;
  unsigned char tag[MAC_SIZE];
  bool ok = metadata_session_info(&metadata, vin_of(s), (struct bytes){r->uuid, UUID_SIZE}, &facts) &&
            crypto_hmac(s->crypto, 0, k->info, facts, m->payload, tag);
  ok = ok && bytes_equal_secret((struct bytes){tag, MAC_SIZE}, m->tag);
  wipe(tag, sizeof tag);
  return ok;
}

static bool info_is_usable(const struct session_info *i, struct err *e) {
  if (i->status == INFO_KEY_NOT_PAIRED)
    return err_set(e, KIND_key_not_paired, "the vehicle does not know this key: pair it first");
  if (i->status != INFO_OK)
    return err_set(e, KIND_protocol, "the vehicle's session info has the unknown status %u", i->status);
  if (i->epoch.size != EPOCH_SIZE)
    return err_set(e, KIND_protocol, "the vehicle's session info has no proper epoch");
  return true;
}

/* Which secrets the session info is to be checked with: those of the pinned key, or fresh ones of the key it
 * names. */
static const struct secrets *secrets_for(const struct session *s, const struct session_info *i,
                                         struct secrets *fresh, struct err *e) {
  if (s->pinned && is(s->secrets.vehicle, PUBLIC_SIZE, i->public)) return &s->secrets;
  return derive(s, i->public, fresh, e) ? fresh : NULL;
}

static bool say_key_changed(struct err *e) {
  err_set(e, KIND_protocol,
          "the vehicle has another key than before, as after a repair: begin a new session with it");
  memcpy(e->reason, "vehicle_key_changed", sizeof "vehicle_key_changed");
  return false;
}

static bool take_info(struct session *s, struct request *r, const struct session_info *i,
                      const struct secrets *k, double now, struct err *e) {
  bool taken;
  if (s->pinned && k != &s->secrets) return say_key_changed(e);
  bool untaken = never_taken(&r->stamp, i, now - r->sent);
  if (r->informed)
    return r->untaken = r->untaken && untaken, true; /* of another copy, or the same once more */
  struct session_state next = session_update(s->state, i, now, &taken);
  if (!taken) return err_set(e, KIND_protocol, "the vehicle's session info is older than one already taken");
  s->state = next;
  if (k != &s->secrets) s->secrets = *k;
  s->pinned = r->informed = true;
  r->untaken = untaken;
  if (!untaken && is_epoch(r->stamp.epoch, i->epoch)) s->state.shared = true;
  return true;
}

/* Section 6, in its order; nothing of the session changes before the tag was found right. */
static bool absorb_info(struct session *s, struct request *r, const struct message *m, double now,
                        struct arena *a, struct err *e) {
  struct session_info i;
  struct secrets fresh;
  if (now - r->sent > INFO_LATENCY)
    return err_set(e, KIND_protocol, "the vehicle's session info came more than %d seconds after the request",
                   INFO_LATENCY);
  if (!session_info_read(&i, m->payload, a, e) || !info_is_usable(&i, e)) return false;
  const struct secrets *k = secrets_for(s, &i, &fresh, e);
  bool ok = k &&
            (tag_is_right(s, k, r, m) ||
             err_set(e, KIND_protocol, "the vehicle's session info does not carry the right tag")) &&
            take_info(s, r, &i, k, now, e);
  wipe(&fresh, sizeof fresh);
  return ok;
}

/* ---- faults ---- */

static bool say_fault(uint32_t number, enum evidence evidence, struct err *e) {
  const struct fault *row = fault_row(number);
  enum outcome outcome = fault_outcome(row, evidence);
  bool doubt = row && outcome == OUTCOME_UNKNOWN && (row->resync || evidence == EVIDENCE_AGAINST);
  err_set(e, row ? row->kind : KIND_protocol, "the vehicle answered with fault %u (%s)%s%s%s", number,
          row ? row->name : "unknown", row && row->doc ? ": " : "", row && row->doc ? row->doc : "",
          doubt ? " It may have carried out another copy of the message." : "");
  e->fault = (int)number;
  e->outcome = outcome;
  return false;
}

bool session_accept(struct session *s, struct bytes in, double now, struct err *e) {
  struct arena a;
  struct message m;
  struct err unwanted = ERR_INIT;
  if (!e) e = &unwanted;
  arena_start(&a, 4 * MESSAGE_LIMIT);
  struct request *r = message_read(&m, in, &a, e) ? find_request(s, &m, e) : NULL;
  bool ok = false;
  if (r && m.kind == PAYLOAD_SESSION_INFO)
    ok = absorb_info(s, r, &m, now, &a, e);
  else if (r && m.fault)
    say_fault(m.fault, EVIDENCE_NONE, e);
  else if (r)
    err_set(e, KIND_protocol, "the answer to the handshake holds no session info");
  arena_end(&a);
  return ok;
}

/* ---- commands ---- */

static bool may_sign(const struct session *s, struct err *e) {
  if (!s->state.known)
    err_set(e, KIND_invalid, "the session has not begun: send handshake() and give the answer to accept()");
  else if (s->state.counter == UINT32_MAX)
    err_set(e, KIND_protocol, "all counters of this session are used: make a new handshake");
  else
    return true;
  e->outcome = OUTCOME_NOT_SENT;
  return false;
}

static bool authenticate(struct session *s, struct message *m, const struct request_facts *f,
                         const struct draws *d, struct buf *sealed, unsigned char tag[MAC_SIZE]) {
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

static void fill_request(const struct session *s, struct message *m, const struct request_facts *f,
                         struct bytes payload) {
  m->kind = PAYLOAD_BYTES;
  m->payload = payload;
  m->flags = f->flags;
  m->epoch = f->epoch;
  m->counter = f->counter;
  m->expires_at = f->expires_at;
  m->signer = (struct bytes){key_public(s->key), PUBLIC_SIZE};
}

bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct draws *d, double now, struct buf *out, struct err *e) {
  struct message m;
  struct buf sealed = BUF_INIT;
  unsigned char tag[MAC_SIZE];
  struct err unwanted = ERR_INIT;
  if (!may_sign(s, e ? e : &unwanted)) return false;
  struct request *r = add_request(s, d, now, e);
  if (!r) return false;
  s->state.counter++;
  struct request_facts f = {o->method,
                            (uint32_t)s->domain,
                            vin_of(s),
                            {s->state.epoch, EPOCH_SIZE},
                            session_expiry(&s->state, now, o->lifetime),
                            s->state.counter,
                            o->flags};
  address_request(s, d, &m);
  fill_request(s, &m, &f, payload);
  bool ok = authenticate(s, &m, &f, d, &sealed, tag) && message_write(&m, out);
  memcpy(r->stamp.epoch, s->state.epoch, EPOCH_SIZE);
  r->stamp.counter = f.counter;
  if (ok)
    r->hash_size = (unsigned char)request_hash(r->hash, (uint32_t)s->domain, f.method, m.tag);
  else
    s->count--;
  buf_free(&sealed);
  return ok || err_set(e, KIND_service, "the command could not be signed");
}

/* ---- answers ---- */

static bool unseal(struct session *s, const struct request *r, const struct message *m, struct buf *payload) {
  struct response_facts f = {m->from_domain, vin_of(s), {r->hash, r->hash_size},
                             m->counter,     m->flags,  m->fault};
  struct metadata metadata;
  struct bytes facts;
  unsigned char aad[HASH_SIZE];
  return s->pinned && r->hash_size && metadata_response(&metadata, &f, &facts) &&
         crypto_sha256(s->crypto, facts, aad) &&
         crypto_unseal(s->crypto, (struct bytes){s->secrets.shared, SHARED_SIZE}, m->nonce,
                       (struct bytes){aad, sizeof aad}, m->payload, m->tag, payload);
}

static bool open_sealed(struct session *s, struct request *r, const struct message *m, double now,
                        struct answer *a, struct buf *payload, struct err *e) {
  bool fresh;
  if (!unseal(s, r, m, payload)) return err_set(e, KIND_protocol, "the vehicle's answer is not authentic");
  struct window next = window_use(r->answers, m->counter, &fresh);
  if (!fresh) return buf_clear(payload), err_set(e, KIND_protocol, "the vehicle's answer came a second time");
  r->answers = next;
  s->state.confirmed = now;
  return a->authenticated = true;
}

/* Firmware before 2024.38 answers in clear text; then the status is all there is. */
static bool open_clear(const struct message *m, struct buf *payload, struct err *e) {
  if (m->kind == PAYLOAD_HANDSHAKE) return err_set(e, KIND_protocol, "the answer is a handshake");
  if (m->status == STATUS_OK) return buf_add(payload, m->payload.data, m->payload.size), true;
  e->outcome = OUTCOME_REFUSED;
  if (m->status == STATUS_WAIT) return err_set(e, KIND_busy, "the vehicle is busy: ask again shortly");
  return err_set(e, KIND_refused, "the vehicle reports an error without a reason");
}

static enum evidence evidence_of(const struct answer *a, const struct request *r) {
  if (!a->resynced) return EVIDENCE_NONE;
  return r->untaken ? EVIDENCE_PROOF : EVIDENCE_AGAINST;
}

static bool open_answer(struct session *s, struct request *r, const struct message *m, double now,
                        struct arena *arena, struct answer *a, struct buf *payload, struct err *e) {
  bool sealed = m->signature == SIGNED_RESPONSE;
  if (!r->hash_size) return err_set(e, KIND_protocol, "this answers a handshake: give it to accept()");
  if (m->kind == PAYLOAD_SESSION_INFO) {
    a->resynced = absorb_info(s, r, m, now, arena, e);
    if (!a->resynced && e->reason[0]) return e->fault = (int)m->fault, false;
    if (!m->fault) return err_set(e, KIND_protocol, "the answer holds session info and no answer");
  } else if (sealed && !open_sealed(s, r, m, now, a, payload, e)) {
    return false;
  }
  if (m->fault) return buf_clear(payload), say_fault(m->fault, evidence_of(a, r), e);
  if (!sealed && !open_clear(m, payload, e)) return false;
  e->outcome = OUTCOME_NONE;
  return true;
}

bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e) {
  struct arena arena;
  struct message m;
  struct err unwanted = ERR_INIT;
  if (!e) e = &unwanted;
  *a = (struct answer){0};
  e->outcome = OUTCOME_UNKNOWN;
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  struct request *r = message_read(&m, in, &arena, e) ? find_request(s, &m, e) : NULL;
  bool ok = false;
  if (r) {
    memcpy(a->id, r->uuid, UUID_SIZE);
    a->matched = true;
    a->status = m.status;
    ok = open_answer(s, r, &m, now, &arena, a, payload, e);
  }
  arena_end(&arena);
  return ok && (buf_ok(payload) || err_out_of_memory(e));
}

/* ---- export and import ---- */

enum { EXPORT_VERSION = 2, EXPORT_FIXED = 3 + VIN_SIZE + PUBLIC_SIZE + EPOCH_SIZE + 4 + 4 + 8 + 8 + 8 };

static void put_u64(struct buf *b, uint64_t v) {
  buf_u32be(b, (uint32_t)(v >> 32));
  buf_u32be(b, (uint32_t)v);
}

static uint64_t milliseconds(double seconds) {
  return seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds * 1000) : 0;
}

/* Only the holder of the private key can have written what carries this tag. */
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
  buf_put(out, s->state.shared);
  buf_add(out, s->vin, VIN_SIZE);
  buf_add(out, s->secrets.vehicle, PUBLIC_SIZE);
  buf_add(out, s->state.epoch, EPOCH_SIZE);
  buf_u32be(out, s->state.counter + (ahead < left ? ahead : left));
  buf_u32be(out, s->state.clock_time);
  put_u64(out, milliseconds(now - s->state.zero));
  put_u64(out, milliseconds(wall));
  put_u64(out, milliseconds(fmin(session_age(s, now), LONG_AGO)));
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

/* A wall clock that stands before the time of saving says nothing: then no time has passed, and the vehicle's
 * last word is old. */
static void set_times(struct session_state *s, struct reader *r, double now, double wall) {
  double vehicle = take_seconds(r), saved = take_seconds(r), age = take_seconds(r);
  double passed = wall > saved ? wall - saved : 0;
  s->zero = now - vehicle - passed;
  s->confirmed = now - (wall < saved ? LONG_AGO : age + passed);
}

bool session_import(struct session *s, struct bytes in, double now, double wall) {
  struct reader r = {in.data};
  struct secrets k;
  struct err ignored = ERR_INIT;
  if (!is_own_state(s, in) || take_number(&r, 1) != EXPORT_VERSION ||
      take_number(&r, 1) != (uint64_t)s->domain)
    return false;
  struct session_state state = {.known = true, .shared = take_number(&r, 1)};
  if (memcmp(take(&r, VIN_SIZE), s->vin, VIN_SIZE) != 0) return false;
  struct bytes vehicle = {take(&r, PUBLIC_SIZE), PUBLIC_SIZE};
  if (!derive(s, vehicle, &k, &ignored)) return false;
  memcpy(state.epoch, take(&r, EPOCH_SIZE), EPOCH_SIZE);
  state.counter = (uint32_t)take_number(&r, 4);
  state.clock_time = (uint32_t)take_number(&r, 4);
  set_times(&state, &r, now, wall);
  s->secrets = k;
  s->state = state;
  s->pinned = true;
  crypto_forget(s->crypto, s->owner);
  wipe(&k, sizeof k);
  return true;
}
