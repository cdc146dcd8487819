#include "signing/wire/message.h"

#include "signing/wire/protobuf_fields.h"
#include "signing/wire/proto/signatures.pb-c.h"
#include "signing/wire/proto/universal_message.pb-c.h"

#include <string.h>

typedef Fleet__UniversalMessage__RoutableMessage Routable;
typedef Fleet__UniversalMessage__Destination Destination;
typedef Fleet__Signatures__SignatureData Signature;
typedef Fleet__Signatures__KeyIdentity Identity;
typedef Fleet__Signatures__AESGCMPersonalizedSignatureData Gcm;
typedef Fleet__Signatures__HMACPersonalizedSignatureData Hmac;
typedef Fleet__Signatures__AESGCMResponseSignatureData Response;
typedef Fleet__Signatures__SessionInfo Info;

#define CASE(name) FLEET__UNIVERSAL_MESSAGE__ROUTABLE_MESSAGE__PAYLOAD_##name
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

/* proto3 does not distinguish an absent scalar from an empty one. */
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
  if (in.size > MESSAGE_LIMIT)
    return err_set(e, KIND_protocol, "the message is larger than %d bytes", MESSAGE_LIMIT);
  Routable *r = (Routable *)message_unpack(&fleet__universal_message__routable_message__descriptor, in, a);
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

/* ---- writing ----
 *
 * Members go straight into the buffer, in ascending order: walking the descriptors of protobuf-c costs as
 * much as the signature. Absent members and proto3 defaults are left out; a member of a oneof is written even
 * when it is empty.
 */

enum wire { VARINT = 0, LENGTH = 2, FIXED32 = 5 };

static size_t varint_size(uint64_t v) {
  size_t n = 1;
  while (v >>= 7) n++;
  return n;
}

/* A position in the buffer. pen_start reserves room for the whole message. */
struct pen {
  unsigned char *at;
};

static void put_varint(struct pen *b, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *b->at++ = (unsigned char)(v | 0x80);
  *b->at++ = (unsigned char)v;
}

static void put_key(struct pen *b, unsigned number, enum wire wire) {
  put_varint(b, number << 3 | wire);
}

static void put_number(struct pen *b, unsigned number, uint32_t v) {
  if (v) put_key(b, number, VARINT), put_varint(b, v);
}

static void put_fixed32(struct pen *b, unsigned number, uint32_t v) {
  if (!v) return;
  put_key(b, number, FIXED32);
  for (int shift = 0; shift < 32; shift += 8) *b->at++ = (unsigned char)(v >> shift);
}

static void put_length(struct pen *b, unsigned number, size_t size) {
  put_key(b, number, LENGTH);
  put_varint(b, size);
}

static void put_present(struct pen *b, unsigned number, struct bytes v) {
  put_length(b, number, v.size);
  if (v.size) memcpy(b->at, v.data, v.size);
  b->at += v.size;
}

static void put_bytes(struct pen *b, unsigned number, struct bytes v) {
  if (v.size) put_present(b, number, v);
}

static size_t number_size(unsigned number, uint32_t v) {
  return v ? varint_size(number << 3) + varint_size(v) : 0;
}

static size_t present_size(unsigned number, size_t size) {
  return varint_size(number << 3) + varint_size(size) + size;
}

static size_t bytes_size(unsigned number, struct bytes v) {
  return v.size ? present_size(number, v.size) : 0;
}

static void write_destination(struct pen *b, unsigned number, uint32_t domain, struct bytes address) {
  if (address.data) {
    put_length(b, number, present_size(2, address.size));
    put_present(b, 2, address);
  } else if (domain) {
    put_length(b, number, number_size(1, domain));
    put_number(b, 1, domain);
  }
}

static void write_payload(const struct message *m, struct pen *b) {
  if (m->kind == PAYLOAD_BYTES) put_present(b, 10, m->payload);
}

/* These two payloads have higher numbers than the signature. */
static void write_late_payload(const struct message *m, struct pen *b) {
  if (m->kind == PAYLOAD_HANDSHAKE) {
    put_length(b, 14, bytes_size(1, m->payload));
    put_bytes(b, 1, m->payload);
  } else if (m->kind == PAYLOAD_SESSION_INFO) {
    put_present(b, 15, m->payload);
  }
}

/* The member numbers of each kind of signature; 0: it has no such member. */
static const struct layout {
  enum signature signature;
  unsigned epoch, nonce, counter, expires_at, tag;
} layouts[] = {{SIGNED_GCM, 1, 2, 3, 4, 5},
               {SIGNED_SESSION_INFO, 0, 0, 0, 0, 1},
               {SIGNED_HMAC, 1, 0, 2, 3, 4},
               {SIGNED_RESPONSE, 0, 1, 2, 0, 3}};

static const struct layout *layout_of(enum signature signature) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i].signature == signature) return &layouts[i];
  return NULL;
}

static size_t signature_size(const struct layout *l, const struct message *m) {
  return (l->epoch ? bytes_size(l->epoch, m->epoch) : 0) + (l->nonce ? bytes_size(l->nonce, m->nonce) : 0) +
         (l->counter ? number_size(l->counter, m->counter) : 0) + (l->expires_at && m->expires_at ? 5 : 0) +
         bytes_size(l->tag, m->tag);
}

static void write_signature(const struct message *m, struct pen *b) {
  const struct layout *l = layout_of(m->signature);
  if (!l) return;
  size_t who = m->signer.data ? present_size(1, m->signer.size) : 0, how = signature_size(l, m);
  put_length(b, 13, (who ? present_size(1, who) : 0) + present_size(l->signature, how));
  if (who) put_length(b, 1, who), put_present(b, 1, m->signer);
  put_length(b, l->signature, how);
  if (l->epoch) put_bytes(b, l->epoch, m->epoch);
  if (l->nonce) put_bytes(b, l->nonce, m->nonce);
  if (l->counter) put_number(b, l->counter, m->counter);
  if (l->expires_at) put_fixed32(b, l->expires_at, m->expires_at);
  put_bytes(b, l->tag, m->tag);
}

static void write_status(const struct message *m, struct pen *b) {
  if (!m->status && !m->fault) return;
  put_length(b, 12, number_size(1, m->status) + number_size(2, m->fault));
  put_number(b, 1, m->status);
  put_number(b, 2, m->fault);
}

enum { KEYS_ROOM = 256 }; /* more than all keys, lengths and numbers of an envelope */

static bool pen_start(struct pen *b, struct buf *out, size_t views) {
  if (!buf_reserve(out, views + KEYS_ROOM)) return false;
  b->at = out->data + out->size;
  return true;
}

static bool pen_end(const struct pen *b, struct buf *out) {
  out->size = (size_t)(b->at - out->data);
  *b->at = '\0';
  return true;
}

bool message_write(const struct message *m, struct buf *out) {
  struct pen pen, *b = &pen;
  size_t views = m->to_address.size + m->from_address.size + m->payload.size + m->signer.size +
                 m->epoch.size + m->nonce.size + m->tag.size + m->uuid.size + m->request_uuid.size;
  if (!pen_start(b, out, views)) return false;
  write_destination(b, 6, m->to_domain, m->to_address);
  write_destination(b, 7, m->from_domain, m->from_address);
  write_payload(m, b);
  write_status(m, b);
  write_signature(m, b);
  write_late_payload(m, b);
  put_bytes(b, 50, m->request_uuid);
  put_bytes(b, 51, m->uuid);
  put_number(b, 52, m->flags);
  return pen_end(b, out);
}

/* ---- session info ---- */

bool session_info_read(struct session_info *i, struct bytes in, struct arena *a, struct err *e) {
  Info *info = (Info *)message_unpack(&fleet__signatures__session_info__descriptor, in, a);
  if (!info) return err_set(e, KIND_protocol, "the vehicle's session info cannot be read");
  i->counter = info->counter;
  i->clock_time = info->clock_time;
  i->status = (uint32_t)info->status;
  i->public = view_or_absent(info->publickey);
  i->epoch = view_or_absent(info->epoch);
  return true;
}

bool session_info_write(const struct session_info *i, struct buf *out) {
  struct pen pen, *b = &pen;
  if (!pen_start(b, out, i->public.size + i->epoch.size)) return false;
  put_number(b, 1, i->counter);
  put_bytes(b, 2, i->public);
  put_bytes(b, 3, i->epoch);
  put_fixed32(b, 4, i->clock_time);
  put_number(b, 5, i->status);
  return pen_end(b, out);
}
