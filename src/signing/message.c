#include "signing/message.h"

#include "signing/proto/signatures.pb-c.h"
#include "signing/proto/universal_message.pb-c.h"

#include <string.h>

typedef Fleet__UniversalMessage__RoutableMessage Routable;
typedef Fleet__UniversalMessage__Destination Destination;
typedef Fleet__UniversalMessage__MessageStatus Status;
typedef Fleet__UniversalMessage__SessionInfoRequest Handshake;
typedef Fleet__Signatures__SignatureData Signature;
typedef Fleet__Signatures__KeyIdentity Identity;
typedef Fleet__Signatures__AESGCMPersonalizedSignatureData Gcm;
typedef Fleet__Signatures__HMACPersonalizedSignatureData Hmac;
typedef Fleet__Signatures__AESGCMResponseSignatureData Response;
typedef Fleet__Signatures__HMACSignatureData InfoTag;
typedef Fleet__Signatures__SessionInfo Info;

#define CASE(name) FLEET__UNIVERSAL_MESSAGE__ROUTABLE_MESSAGE__PAYLOAD_##name
#define NO_PAYLOAD FLEET__UNIVERSAL_MESSAGE__ROUTABLE_MESSAGE__PAYLOAD__NOT_SET
#define TO_DOMAIN FLEET__UNIVERSAL_MESSAGE__DESTINATION__SUB_DESTINATION_DOMAIN
#define TO_ADDRESS FLEET__UNIVERSAL_MESSAGE__DESTINATION__SUB_DESTINATION_ROUTING_ADDRESS
#define BY_KEY FLEET__SIGNATURES__KEY_IDENTITY__IDENTITY_TYPE_PUBLIC_KEY
#define HAS_SIGNATURE FLEET__UNIVERSAL_MESSAGE__ROUTABLE_MESSAGE__SUB_SIG_DATA_SIGNATURE_DATA
#define KIND(name) FLEET__SIGNATURES__SIGNATURE_DATA__SIG_TYPE_##name

/* ---- reading ---- */

static struct bytes view(ProtobufCBinaryData b) {
  static const unsigned char empty;
  return (struct bytes){b.data ? b.data : &empty, b.len};
}

/* proto3 does not tell an absent scalar from an empty one. */
static struct bytes view_or_absent(ProtobufCBinaryData b) {
  return (struct bytes){b.len ? b.data : NULL, b.len};
}

static void read_destination(const Destination *d, uint32_t *domain, struct bytes *address) {
  if (d && d->sub_destination_case == TO_DOMAIN) *domain = (uint32_t)d->domain;
  if (d && d->sub_destination_case == TO_ADDRESS) *address = view(d->routing_address);
}

static void read_payload(struct message *m, const Routable *r) {
  if (r->payload_case == CASE(PROTOBUF_MESSAGE_AS_BYTES)) {
    m->kind = PAYLOAD_BYTES;
    m->payload = view(r->protobuf_message_as_bytes);
  } else if (r->payload_case == CASE(SESSION_INFO)) {
    m->kind = PAYLOAD_SESSION_INFO;
    m->payload = view(r->session_info);
  } else if (r->payload_case == CASE(SESSION_INFO_REQUEST)) {
    m->kind = PAYLOAD_HANDSHAKE;
    if (r->session_info_request) m->payload = view(r->session_info_request->public_key);
  }
}

static void read_gcm(struct message *m, const Gcm *g) {
  m->epoch = view_or_absent(g->epoch);
  m->nonce = view(g->nonce);
  m->counter = g->counter;
  m->expires_at = g->expires_at;
  m->tag = view(g->tag);
}

static void read_hmac(struct message *m, const Hmac *h) {
  m->epoch = view_or_absent(h->epoch);
  m->counter = h->counter;
  m->expires_at = h->expires_at;
  m->tag = view(h->tag);
}

static void read_response(struct message *m, const Response *r) {
  m->nonce = view(r->nonce);
  m->counter = r->counter;
  m->tag = view(r->tag);
}

static void read_signature(struct message *m, const Signature *s) {
  m->signed_by_anyone = s != NULL;
  if (!s) return;
  const Identity *who = s->signer_identity;
  if (who && who->identity_type_case == BY_KEY) m->signer = view(who->public_key);
  m->signature = (enum signature)s->sig_type_case;
  if (m->signature == SIGNED_GCM && s->aes_gcm_personalized_data) read_gcm(m, s->aes_gcm_personalized_data);
  if (m->signature == SIGNED_HMAC && s->hmac_personalized_data) read_hmac(m, s->hmac_personalized_data);
  if (m->signature == SIGNED_RESPONSE && s->aes_gcm_response_data) read_response(m, s->aes_gcm_response_data);
  if (m->signature == SIGNED_SESSION_INFO && s->session_info_tag) m->tag = view(s->session_info_tag->tag);
}

bool message_read(struct message *m, struct bytes in, struct arena *a, struct err *e) {
  memset(m, 0, sizeof *m);
  if (in.size > MESSAGE_LIMIT) return err_set(e, KIND_protocol, "the message is larger than %d bytes", MESSAGE_LIMIT);
  Routable *r = fleet__universal_message__routable_message__unpack(&a->allocator, in.size, in.data);
  if (!r) return err_set(e, KIND_protocol, "the bytes are not a message of the vehicles' protocol");
  read_destination(r->to_destination, &m->to_domain, &m->to_address);
  read_destination(r->from_destination, &m->from_domain, &m->from_address);
  read_payload(m, r);
  read_signature(m, r->sub_sig_data_case == HAS_SIGNATURE ? r->signature_data : NULL);
  if (r->signedmessagestatus) {
    m->status = (uint32_t)r->signedmessagestatus->operation_status;
    m->fault = (uint32_t)r->signedmessagestatus->signed_message_fault;
  }
  m->uuid = view_or_absent(r->uuid);
  m->request_uuid = view_or_absent(r->request_uuid);
  m->flags = r->flags;
  return true;
}

/* ---- writing: the parts lie on the stack, so that signing allocates nothing ---- */

struct parts {
  Routable routable;
  Destination to, from;
  Handshake handshake;
  Status status;
  Signature signature;
  Identity identity;
  Gcm gcm;
  Hmac hmac;
  Response response;
  InfoTag info_tag;
};

static ProtobufCBinaryData data(struct bytes b) {
  return (ProtobufCBinaryData){b.size, (uint8_t *)(uintptr_t)b.data};
}

static Destination *write_destination(Destination *d, uint32_t domain, struct bytes address) {
  if (!domain && !address.data) return NULL;
  fleet__universal_message__destination__init(d);
  d->sub_destination_case = address.data ? TO_ADDRESS : TO_DOMAIN;
  if (address.data) d->routing_address = data(address);
  else d->domain = (Fleet__UniversalMessage__Domain)domain;
  return d;
}

static void write_payload(struct parts *p, const struct message *m) {
  Routable *r = &p->routable;
  if (m->kind == PAYLOAD_BYTES) {
    r->payload_case = CASE(PROTOBUF_MESSAGE_AS_BYTES);
    r->protobuf_message_as_bytes = data(m->payload);
  } else if (m->kind == PAYLOAD_SESSION_INFO) {
    r->payload_case = CASE(SESSION_INFO);
    r->session_info = data(m->payload);
  } else if (m->kind == PAYLOAD_HANDSHAKE) {
    fleet__universal_message__session_info_request__init(&p->handshake);
    p->handshake.public_key = data(m->payload);
    r->payload_case = CASE(SESSION_INFO_REQUEST);
    r->session_info_request = &p->handshake;
  }
}

static void write_gcm(struct parts *p, const struct message *m) {
  fleet__signatures__aes__gcm__personalized__signature__data__init(&p->gcm);
  p->gcm.epoch = data(m->epoch);
  p->gcm.nonce = data(m->nonce);
  p->gcm.counter = m->counter;
  p->gcm.expires_at = m->expires_at;
  p->gcm.tag = data(m->tag);
  p->signature.aes_gcm_personalized_data = &p->gcm;
}

static void write_hmac(struct parts *p, const struct message *m) {
  fleet__signatures__hmac__personalized__signature__data__init(&p->hmac);
  p->hmac.epoch = data(m->epoch);
  p->hmac.counter = m->counter;
  p->hmac.expires_at = m->expires_at;
  p->hmac.tag = data(m->tag);
  p->signature.hmac_personalized_data = &p->hmac;
}

static void write_response(struct parts *p, const struct message *m) {
  fleet__signatures__aes__gcm__response__signature__data__init(&p->response);
  p->response.nonce = data(m->nonce);
  p->response.counter = m->counter;
  p->response.tag = data(m->tag);
  p->signature.aes_gcm_response_data = &p->response;
}

static void write_info_tag(struct parts *p, const struct message *m) {
  fleet__signatures__hmac__signature__data__init(&p->info_tag);
  p->info_tag.tag = data(m->tag);
  p->signature.session_info_tag = &p->info_tag;
}

static void write_signature(struct parts *p, const struct message *m) {
  if (m->signature == SIGNED_NOT) return;
  Signature *s = &p->signature;
  fleet__signatures__signature_data__init(s);
  s->sig_type_case = (Fleet__Signatures__SignatureData__SigTypeCase)m->signature;
  if (m->signature == SIGNED_GCM) write_gcm(p, m);
  if (m->signature == SIGNED_HMAC) write_hmac(p, m);
  if (m->signature == SIGNED_RESPONSE) write_response(p, m);
  if (m->signature == SIGNED_SESSION_INFO) write_info_tag(p, m);
  if (m->signer.data) {
    fleet__signatures__key_identity__init(&p->identity);
    p->identity.identity_type_case = BY_KEY;
    p->identity.public_key = data(m->signer);
    s->signer_identity = &p->identity;
  }
  p->routable.sub_sig_data_case = HAS_SIGNATURE;
  p->routable.signature_data = s;
}

static void write_status(struct parts *p, const struct message *m) {
  if (!m->status && !m->fault) return;
  fleet__universal_message__message_status__init(&p->status);
  p->status.operation_status = (Fleet__UniversalMessage__OperationStatusE)m->status;
  p->status.signed_message_fault = (Fleet__UniversalMessage__MessageFaultE)m->fault;
  p->routable.signedmessagestatus = &p->status;
}

/* No message has more than this beside its payload: keys, tags, addresses and the heads of all members. */
enum { ENVELOPE_ROOM = 512 };

bool message_write(const struct message *m, struct buf *out) {
  struct parts p;
  Routable *r = &p.routable;
  fleet__universal_message__routable_message__init(r);
  r->to_destination = write_destination(&p.to, m->to_domain, m->to_address);
  r->from_destination = write_destination(&p.from, m->from_domain, m->from_address);
  write_payload(&p, m);
  write_signature(&p, m);
  write_status(&p, m);
  r->request_uuid = data(m->request_uuid);
  r->uuid = data(m->uuid);
  r->flags = m->flags;
  size_t others = m->to_address.size + m->from_address.size + m->uuid.size + m->request_uuid.size + m->epoch.size;
  if (!buf_reserve(out, m->payload.size + others + ENVELOPE_ROOM)) return false;
  out->size += fleet__universal_message__routable_message__pack(r, out->data + out->size);
  out->data[out->size] = '\0';
  return true;
}

/* ---- session info ---- */

bool session_info_read(struct session_info *i, struct bytes in, struct arena *a, struct err *e) {
  Info *info = fleet__signatures__session_info__unpack(&a->allocator, in.size, in.data);
  if (!info) return err_set(e, KIND_protocol, "the vehicle's session info cannot be read");
  i->counter = info->counter;
  i->clock_time = info->clock_time;
  i->status = (uint32_t)info->status;
  i->public = view_or_absent(info->publickey);
  i->epoch = view_or_absent(info->epoch);
  return true;
}

bool session_info_write(const struct session_info *i, struct buf *out) {
  Info info;
  fleet__signatures__session_info__init(&info);
  info.counter = i->counter;
  info.clock_time = i->clock_time;
  info.status = (Fleet__Signatures__SessionInfoStatus)i->status;
  info.publickey = data(i->public);
  info.epoch = data(i->epoch);
  if (!buf_reserve(out, ENVELOPE_ROOM + i->public.size + i->epoch.size)) return false;
  out->size += fleet__signatures__session_info__pack(&info, out->data + out->size);
  out->data[out->size] = '\0';
  return true;
}
