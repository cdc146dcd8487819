#include "signing/session_internal.h"

#include "crypto/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void session_skip_stride(struct session *s) {
  enum {
    STRIDE = 64 /* counters: more than a process draws between two reads of the stored session */,
    PLACES = 64
  };
  struct err ignored;
  err_clear(&ignored);
  unsigned char place = 'A'; /* of a system that has no random bytes */
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

void session_address(const struct session *s, const struct message_random *d, struct message *m) {
  memset(m, 0, sizeof *m);
  m->to_domain = s->domain;
  m->from_address = (struct bytes){d->address, ADDRESS_SIZE};
  m->uuid = (struct bytes){d->uuid, UUID_SIZE};
}

/* ---- handshake ---- */

bool session_handshake(struct session *s, const struct message_random *d, double now, struct buf *out,
                       struct err *e) {
  struct message m;
  session_address(s, d, &m);
  m.kind = PAYLOAD_HANDSHAKE;
  m.payload = (struct bytes){key_public(s->key), PUBLIC_SIZE};
  if (!pending_add(&s->sent, d, now, e)) return false;
  return message_write(&m, out) || err_out_of_memory(e);
}

bool session_derive(const struct session *s, struct bytes public, struct session_secrets *k, struct err *e) {
  if (!key_shared(s->key, public, k->shared, e)) return false;
  memcpy(k->vehicle, public.data, PUBLIC_SIZE);
  return derive_keys(s->crypto, k->shared, k->command, k->info) ||
         err_set(e, KIND_service, "OpenSSL derived no keys");
}

/* Over the bytes as they came: a message written anew might differ from what the vehicle signed. */
static bool tag_is_right(const struct session *s, const struct session_secrets *k, const struct pending *r,
                         const struct message *m) {
  struct metadata metadata;
  struct bytes facts;
  unsigned char tag[MAC_SIZE];
  bool ok = metadata_session_info(&metadata, session_vin(s), (struct bytes){r->uuid, UUID_SIZE}, &facts) &&
            crypto_hmac(s->crypto, 0, k->info, facts, m->payload, tag);
  ok = ok && bytes_equal_secret((struct bytes){tag, MAC_SIZE}, m->tag);
  wipe(tag, sizeof tag);
  return ok;
}

static bool info_is_usable(const struct session_info *i, struct err *e) {
  if (i->status == INFO_KEY_NOT_PAIRED)
    return err_set(
        e, KIND_key_not_paired,
        "the vehicle does not know this key: the owner adds it at the address of client:pairing_url");
  if (i->status != INFO_OK)
    return err_set(e, KIND_protocol, "the vehicle's session info has the unknown status %u", i->status);
  if (i->epoch.size != EPOCH_SIZE)
    return err_set(e, KIND_protocol, "the vehicle's session info has no proper epoch");
  return true;
}

/* Which secrets the session info is to be checked with: those of the pinned key, or fresh ones of the key it
 * names. */
static const struct session_secrets *secrets_for(const struct session *s, const struct session_info *i,
                                                 struct session_secrets *fresh, struct err *e) {
  if (s->pinned && bytes_equal((struct bytes){s->secrets.vehicle, PUBLIC_SIZE}, i->public))
    return &s->secrets;
  return session_derive(s, i->public, fresh, e) ? fresh : NULL;
}

static bool say_key_changed(struct err *e) {
  err_set(e, KIND_protocol,
          "the vehicle has another key than before, as after a repair: begin a new session with it");
  memcpy(e->reason, "vehicle_key_changed", sizeof "vehicle_key_changed");
  return false;
}

static bool take_info(struct session *s, struct pending *r, const struct session_info *i,
                      const struct session_secrets *k, double now, struct err *e) {
  bool taken;
  if (s->pinned && k != &s->secrets) return say_key_changed(e);
  bool untaken = never_taken(&r->message, i, now - r->sent);
  if (r->informed)
    return r->untaken = r->untaken && untaken, true; /* of another copy, or the same once more */
  struct epoch_state next = epoch_update(s->state, i, now, &taken);
  if (!taken) return err_set(e, KIND_protocol, "the vehicle's session info is older than one already taken");
  s->state = next;
  if (k != &s->secrets) s->secrets = *k;
  s->pinned = r->informed = true;
  r->untaken = untaken;
  if (!untaken && epoch_is(r->message.epoch, i->epoch)) s->state.shared = true;
  return true;
}

/* In the order of doc/protocol.md#session-handshake. */
bool session_absorb(struct session *s, struct pending *r, const struct message *m, double now,
                    struct arena *a, struct err *e) {
  struct session_info i;
  struct session_secrets fresh;
  if (now - r->sent > INFO_LATENCY)
    return err_set(e, KIND_protocol, "the vehicle's session info came more than %d seconds after the request",
                   INFO_LATENCY);
  if (!session_info_read(&i, m->payload, a, e) || !info_is_usable(&i, e)) return false;
  const struct session_secrets *k = secrets_for(s, &i, &fresh, e);
  bool ok = k &&
            (tag_is_right(s, k, r, m) ||
             err_set(e, KIND_protocol, "the vehicle's session info does not carry the right tag")) &&
            take_info(s, r, &i, k, now, e);
  wipe(&fresh, sizeof fresh);
  return ok;
}

bool session_accept(struct session *s, struct bytes in, double now, struct err *e) {
  struct arena a;
  struct message m;
  struct err unwanted;
  err_clear(&unwanted);
  if (!e) e = &unwanted;
  arena_start(&a, 4 * MESSAGE_LIMIT);
  struct pending *r = message_read(&m, in, &a, e) ? pending_find(&s->sent, s->domain, &m, e) : NULL;
  bool ok = false;
  if (r && m.kind == PAYLOAD_SESSION_INFO)
    ok = session_absorb(s, r, &m, now, &a, e);
  else if (r && m.fault)
    fault_say(m.fault, EVIDENCE_NONE, e);
  else if (r)
    err_set(e, KIND_protocol, "the answer to the handshake holds no session info");
  arena_end(&a);
  return ok;
}
