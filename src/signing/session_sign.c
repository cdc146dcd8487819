/* A command as a message of a session: the next counter is drawn here. */
#include "signing/session_internal.h"

#include <string.h>

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
  session_address(s, d, &m);
  fill_request(s, &m, &f, payload);
  bool ok = authenticate(s, &m, &f, d, &sealed, tag) && message_write(&m, out);
  memcpy(r->message.epoch, s->state.epoch, EPOCH_SIZE);
  r->message.counter = f.counter;
  r->wants_sealed = o->flags & FLAG_ENCRYPT_RESPONSE;
  if (ok)
    r->hash_size = (unsigned char)request_hash(r->hash, (uint32_t)s->domain, f.method, m.tag);
  else
    s->sent.count--;
  buf_free(&sealed);
  return ok || err_set(e, KIND_service, "the command could not be signed");
}

bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct message_random *d, double now, struct buf *out, struct err *e) {
  struct err unwanted;
  err_clear(&unwanted);
  return may_sign(s, e ? e : &unwanted) && sign_with(s, s->state.counter + 1, payload, o, d, now, out, e);
}

bool session_signs_again(const struct session *s, struct bytes id) {
  const struct pending *r = pending_of(&s->sent, id);
  return r && r->hash_size && r->untaken && s->state.known &&
         epoch_is(r->message.epoch, (struct bytes){s->state.epoch, EPOCH_SIZE});
}

bool session_sign_again(struct session *s, struct bytes id, struct bytes payload,
                        const struct sign_options *o, const struct message_random *d, double now,
                        struct buf *out, struct err *e) {
  const struct pending *r = session_signs_again(s, id) ? pending_of(&s->sent, id) : NULL;
  if (r) return sign_with(s, r->message.counter, payload, o, d, now, out, e);
  err_set(e, KIND_protocol, "the session cannot sign that message again");
  if (e) e->outcome = OUTCOME_NOT_SENT;
  return false;
}
