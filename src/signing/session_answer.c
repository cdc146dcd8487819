/* What a vehicle answers to a message of a session: opened, and counted once. */
#include "signing/session_internal.h"

#include <string.h>

static bool unseal(struct session *s, const struct pending *r, const struct message *m, struct buf *payload) {
  struct response_facts f = {m->from_domain, session_vin(s), {r->hash, r->hash_size},
                             m->counter,     m->flags,       m->fault};
  struct metadata metadata;
  struct bytes facts;
  unsigned char aad[HASH_SIZE];
  return s->pinned && r->hash_size && metadata_response(&metadata, &f, &facts) &&
         crypto_sha256(s->crypto, facts, aad) &&
         crypto_unseal(s->crypto, (struct bytes){s->secrets.shared, SHARED_SIZE}, m->nonce,
                       (struct bytes){aad, sizeof aad}, m->payload, m->tag, payload);
}

static bool open_sealed(struct session *s, struct pending *r, const struct message *m, double now,
                        struct answer *a, struct buf *payload, struct err *e) {
  bool fresh;
  if (!unseal(s, r, m, payload)) return err_set(e, KIND_protocol, "the vehicle's answer is not authentic");
  struct window next = window_use(r->answers, m->counter, &fresh);
  if (!fresh) return buf_clear(payload), err_set(e, KIND_protocol, "the vehicle's answer came a second time");
  r->answers = next;
  s->state.confirmed = now;
  s->seals = true;
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

static enum evidence evidence_of(const struct answer *a, const struct pending *r) {
  if (!a->resynced) return EVIDENCE_NONE;
  return r->untaken ? EVIDENCE_PROOF : EVIDENCE_AGAINST;
}

static bool open_answer(struct session *s, struct pending *r, const struct message *m, double now,
                        struct arena *arena, struct answer *a, struct buf *payload, struct err *e) {
  bool sealed = m->signature == SIGNED_RESPONSE;
  if (!r->hash_size) return err_set(e, KIND_protocol, "this answers a handshake: give it to accept()");
  if (m->kind == PAYLOAD_SESSION_INFO) {
    a->resynced = session_absorb(s, r, m, now, arena, e);
    if (!a->resynced && e->reason[0]) return e->fault = (int)m->fault, false;
    if (!m->fault) return err_set(e, KIND_protocol, "the answer holds session info and no answer");
  } else if (sealed && !open_sealed(s, r, m, now, a, payload, e)) {
    return false;
  }
  if (m->fault) return buf_clear(payload), fault_say(m->fault, evidence_of(a, r), e);
  if (!sealed && s->seals && r->wants_sealed)
    return err_set(e, KIND_protocol,
                   "the vehicle encrypts its answers, and this one came in clear text: "
                   "the command may have been carried out");
  if (!sealed && !open_clear(m, payload, e)) return false;
  e->outcome = OUTCOME_NONE;
  return true;
}

bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e) {
  struct arena arena;
  struct message m;
  struct err unwanted;
  err_clear(&unwanted);
  if (!e) e = &unwanted;
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
