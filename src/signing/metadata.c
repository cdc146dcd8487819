#include "signing/metadata.h"

#include <string.h>

void metadata_start(struct metadata *m) {
  m->size = 0;
  m->last = -1;
  m->failed = false;
}

void metadata_bytes(struct metadata *m, enum tag tag, struct bytes value) {
  if (!value.data) return;
  bool fits = value.size <= 255 && m->size + value.size + 3 <= sizeof m->data;
  if (!fits || (int)tag <= m->last || tag >= TAG_END) {
    m->failed = true;
    return;
  }
  m->last = (int)tag;
  m->data[m->size++] = (unsigned char)tag;
  m->data[m->size++] = (unsigned char)value.size;
  memcpy(m->data + m->size, value.data, value.size);
  m->size += value.size;
}

void metadata_u8(struct metadata *m, enum tag tag, uint32_t value) {
  unsigned char byte = (unsigned char)value;
  if (value > 255) m->failed = true;
  metadata_bytes(m, tag, (struct bytes){&byte, 1});
}

void metadata_u32(struct metadata *m, enum tag tag, uint32_t value) {
  unsigned char b[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                        (unsigned char)(value >> 8), (unsigned char)value};
  metadata_bytes(m, tag, (struct bytes){b, sizeof b});
}

bool metadata_end(struct metadata *m, struct bytes *out) {
  m->data[m->size] = TAG_END; /* every item left room for it */
  *out = (struct bytes){m->data, m->size + 1};
  return !m->failed;
}

bool metadata_request(struct metadata *m, const struct request_facts *f, struct bytes *out) {
  metadata_start(m);
  metadata_u8(m, TAG_SIGNATURE_TYPE, f->method);
  metadata_u8(m, TAG_DOMAIN, f->domain);
  metadata_bytes(m, TAG_PERSONALIZATION, f->vin);
  metadata_bytes(m, TAG_EPOCH, f->epoch);
  metadata_u32(m, TAG_EXPIRES_AT, f->expires_at);
  metadata_u32(m, TAG_COUNTER, f->counter);
  if (f->flags) metadata_u32(m, TAG_FLAGS, f->flags);
  return metadata_end(m, out);
}

bool metadata_response(struct metadata *m, const struct response_facts *f, struct bytes *out) {
  metadata_start(m);
  metadata_u8(m, TAG_SIGNATURE_TYPE, METHOD_RESPONSE);
  metadata_u8(m, TAG_DOMAIN, f->domain);
  metadata_bytes(m, TAG_PERSONALIZATION, f->vin);
  metadata_u32(m, TAG_COUNTER, f->counter);
  metadata_u32(m, TAG_FLAGS, f->flags);
  metadata_bytes(m, TAG_REQUEST_HASH, f->request_hash);
  metadata_u32(m, TAG_FAULT, f->fault);
  return metadata_end(m, out);
}

bool metadata_session_info(struct metadata *m, struct bytes vin, struct bytes challenge, struct bytes *out) {
  metadata_start(m);
  metadata_u8(m, TAG_SIGNATURE_TYPE, 6 /* SIGNATURE_TYPE_HMAC */);
  metadata_bytes(m, TAG_PERSONALIZATION, vin);
  metadata_bytes(m, TAG_CHALLENGE, challenge);
  return metadata_end(m, out);
}

size_t request_hash(unsigned char hash[REQUEST_HASH_SIZE], uint32_t domain, enum method method,
                    struct bytes tag) {
  size_t size = tag.size < REQUEST_HASH_SIZE - 1 ? tag.size : REQUEST_HASH_SIZE - 1;
  if (domain == DOMAIN_VCSEC && size > 16) size = 16;
  hash[0] = (unsigned char)method;
  memcpy(hash + 1, tag.data, size);
  return size + 1;
}
