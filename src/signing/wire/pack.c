/* Writes messages in one pass: https://protobuf.dev/programming-guides/encoding. protobuf-c walks all members
 * twice, and a vehicle's action is one member of a hundred. */
#include "signing/wire/protobuf_fields.h"

#include <string.h>

enum wire { VARINT = 0, BITS64 = 1, LENGTH = 2, BITS32 = 5 };

static void put_varint(struct buf *out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) buf_put(out, (unsigned char)(v | 0x80));
  buf_put(out, (unsigned char)v);
}

static void put_little_endian(struct buf *out, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) buf_put(out, (unsigned char)(v >> 8 * i));
}

static enum wire wire_of(Field *f) {
  if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_BYTES || field_is_message(f))
    return LENGTH;
  if (f->type == PROTOBUF_C_TYPE_FLOAT || f->type == PROTOBUF_C_TYPE_FIXED32 ||
      f->type == PROTOBUF_C_TYPE_SFIXED32)
    return BITS32;
  bool wide = f->type == PROTOBUF_C_TYPE_DOUBLE || f->type == PROTOBUF_C_TYPE_FIXED64 ||
              f->type == PROTOBUF_C_TYPE_SFIXED64;
  return wide ? BITS64 : VARINT;
}

/* The bits of a number for its wire type: a negative int32 or enum is extended to 64 bits. */
static uint64_t number_bits(Field *f, const void *at) {
  bool wide = field_size(f) == sizeof(uint64_t);
  uint64_t v = wide ? *(const uint64_t *)at : *(const uint32_t *)at;
  uint64_t extended = wide ? v : (uint64_t)(int64_t) * (const int32_t *)at;
  switch (f->type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_ENUM:
    return extended;
  case PROTOBUF_C_TYPE_SINT32:
    return (uint32_t)(v << 1 ^ extended >> 32);
  case PROTOBUF_C_TYPE_SINT64:
    return v << 1 ^ (0 - (v >> 63));
  case PROTOBUF_C_TYPE_BOOL:
    return v != 0;
  default:
    return v;
  }
}

static void put_bytes(struct buf *out, struct bytes v) {
  put_varint(out, v.size);
  buf_add(out, v.data, v.size);
}

static void put_members(struct buf *out, ProtobufCMessage *m);

/* One byte is left for the length; the content moves when the length needs more. */
static void put_message(struct buf *out, ProtobufCMessage *m) {
  size_t from = out->size + 1, more = 0;
  buf_put(out, 0);
  put_members(out, m);
  if (!buf_ok(out)) return;
  size_t size = out->size - from, rest = size;
  while (rest >> 7 * (more + 1)) more++;
  if (more) {
    buf_add(out, "\0\0\0\0\0\0\0\0\0", more);
    if (!buf_ok(out)) return;
    memmove(out->data + from + more, out->data + from, size);
  }
  unsigned char *at = out->data + from - 1;
  for (; rest >= 0x80; rest >>= 7) *at++ = (unsigned char)(rest | 0x80);
  *at = (unsigned char)rest;
}

static void put_value(struct buf *out, Field *f, void *at) {
  enum wire wire = wire_of(f);
  put_varint(out, (uint64_t)f->id << 3 | wire);
  if (field_is_message(f))
    put_message(out, *(ProtobufCMessage **)at);
  else if (f->type == PROTOBUF_C_TYPE_STRING)
    put_bytes(out, bytes_of(*(char **)at));
  else if (f->type == PROTOBUF_C_TYPE_BYTES)
    put_bytes(out, (struct bytes){((ProtobufCBinaryData *)at)->data, ((ProtobufCBinaryData *)at)->len});
  else if (wire == VARINT)
    put_varint(out, number_bits(f, at));
  else
    put_little_endian(out, number_bits(f, at), wire == BITS64 ? 8 : 4);
}

/* Elements are written one by one: no path leads to a repeated number, which would be packed. */
static void put_member(struct buf *out, ProtobufCMessage *m, Field *f) {
  char *at = field_is_repeated(f) ? *(char **)field_place(m, f) : field_place(m, f);
  size_t count = field_is_repeated(f) ? *field_count(m, f) : 1;
  for (size_t i = 0; i < count; i++) put_value(out, f, at + i * field_size(f));
}

/* Whether the message is one oneof and nothing else: then its member is found without a search. */
static bool is_one_choice(Type *t) {
  Field *f = t->fields;
  return t->n_fields && field_in_oneof(f) && f->quantifier_offset == sizeof(ProtobufCMessage) &&
         t->sizeof_message <= sizeof(ProtobufCMessage) + 2 * sizeof(void *);
}

static void put_members(struct buf *out, ProtobufCMessage *m) {
  Type *t = m->descriptor;
  if (is_one_choice(t)) {
    Field *f = protobuf_c_message_descriptor_get_field(t, *field_chosen(m, t->fields));
    if (f) put_member(out, m, f);
    return;
  }
  for (unsigned i = 0; i < t->n_fields; i++) /* fields is NULL where there are none */
    if (field_is_there(m, &t->fields[i])) put_member(out, m, &t->fields[i]);
}

bool message_pack(ProtobufCMessage *m, struct buf *out) {
  put_members(out, m);
  return buf_ok(out);
}
