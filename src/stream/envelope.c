#include "stream/envelope.h"

/* ---- reading ---- */

static bool damaged(struct err *e, const char *what) {
  return err_set(e, KIND_protocol, "no telemetry message: %s", what);
}

static uint32_t u16_at(struct bytes m, uint64_t at) {
  return (uint32_t)(m.data[at] | m.data[at + 1] << 8);
}

static uint32_t u32_at(struct bytes m, uint64_t at) {
  return u16_at(m, at) | u16_at(m, at + 2) << 16;
}

static bool inside(struct bytes m, uint64_t at, uint64_t size) {
  return at <= m.size && size <= m.size - at;
}

struct table {
  struct bytes message;
  uint64_t at, vtable;
  uint32_t size, vtable_size;
};

static bool open_table(struct bytes m, uint64_t at, struct table *t, struct err *e) {
  if (!inside(m, at, 4)) return damaged(e, "a table lies outside");
  int64_t vtable = (int64_t)at - (int32_t)u32_at(m, at);
  if (vtable < 0 || !inside(m, (uint64_t)vtable, 4)) return damaged(e, "a vtable lies outside");
  *t = (struct table){m, at, (uint64_t)vtable, u16_at(m, (uint64_t)vtable + 2), u16_at(m, (uint64_t)vtable)};
  if (t->vtable_size < 4 || t->vtable_size % 2 || !inside(m, t->vtable, t->vtable_size))
    return damaged(e, "the length of a vtable");
  if (t->size < 4 || !inside(m, at, t->size)) return damaged(e, "the length of a table");
  return true;
}

/* *at is 0 where the field is absent. */
static bool find_field(const struct table *t, unsigned slot, unsigned width, uint64_t *at, struct err *e) {
  uint64_t entry = 4 + 2 * (uint64_t)slot;
  *at = 0;
  if (entry + 2 > t->vtable_size) return true;
  uint32_t offset = u16_at(t->message, t->vtable + entry);
  if (!offset) return true;
  if (offset < 4 || width > t->size || offset > t->size - width)
    return damaged(e, "a field lies outside its table");
  *at = t->at + offset;
  return true;
}

static bool read_vector(const struct table *t, unsigned slot, struct bytes *out, struct err *e) {
  uint64_t at;
  *out = (struct bytes){NULL, 0};
  if (!find_field(t, slot, 4, &at, e)) return false;
  if (!at) return true;
  at += u32_at(t->message, at);
  if (!inside(t->message, at, 4)) return damaged(e, "a vector lies outside");
  uint32_t size = u32_at(t->message, at);
  if (!inside(t->message, at + 4, size)) return damaged(e, "a vector is longer than the message");
  *out = (struct bytes){t->message.data + at + 4, size};
  return true;
}

static bool read_stream(const struct table *t, struct envelope *out, struct err *e) {
  uint64_t created, delivered;
  if (!find_field(t, 0, 4, &created, e) || !read_vector(t, 1, &out->sender_id, e) ||
      !read_vector(t, 2, &out->payload, e) || !read_vector(t, 3, &out->device_type, e) ||
      !read_vector(t, 4, &out->device_id, e) || !find_field(t, 5, 8, &delivered, e))
    return false;
  if (created) out->created_at = u32_at(t->message, created);
  if (delivered)
    out->delivered_at = u32_at(t->message, delivered) | (uint64_t)u32_at(t->message, delivered + 4) << 32;
  return true;
}

bool envelope_read(struct bytes message, struct envelope *out, struct err *e) {
  struct table root, stream;
  uint64_t type, union_at;
  *out = (struct envelope){0};
  if (message.size < 4) return damaged(e, "shorter than its first offset");
  if (!open_table(message, u32_at(message, 0), &root, e) || !read_vector(&root, 0, &out->txid, e) ||
      !read_vector(&root, 1, &out->topic, e) || !find_field(&root, 2, 1, &type, e) ||
      !find_field(&root, 3, 4, &union_at, e) || !read_vector(&root, 4, &out->message_id, e))
    return false;
  out->type = type ? message.data[type] : 0;
  /* The union of an acknowledgement points at no table: only that of a stream message is followed. */
  if (out->type != ENVELOPE_STREAM) return true;
  if (!union_at) return damaged(e, "a stream message without its table");
  return open_table(message, union_at + u32_at(message, union_at), &stream, e) &&
         read_stream(&stream, out, e);
}

/* ---- writing ---- */

enum { HEAD = 44 }; /* root offset, vtable and root table */

static void add_u16(struct buf *out, unsigned value) {
  buf_put(out, (unsigned char)value);
  buf_put(out, (unsigned char)(value >> 8));
}

static void add_u32(struct buf *out, size_t value) {
  add_u16(out, (unsigned)value & 0xffff);
  add_u16(out, (unsigned)(value >> 16) & 0xffff);
}

/* A vector ends with a zero byte that its length does not count, and is padded to a multiple of four; before
 * a vtable to two less. */
static size_t vector_size(struct bytes in, bool vtable_follows) {
  size_t least = 4 + in.size + 1, end = vtable_follows ? 2 : 0;
  return least + (end + 4 - least % 4) % 4;
}

static void add_vector(struct buf *out, struct bytes in, bool vtable_follows) {
  add_u32(out, in.size);
  buf_add(out, in.data, in.size);
  for (size_t i = 4 + in.size; i < vector_size(in, vtable_follows); i++) buf_put(out, 0);
}

static void add_u16s(struct buf *out, const unsigned *values, size_t count) {
  for (size_t i = 0; i < count; i++) add_u16(out, values[i]);
}

/* Root offset, vtable and root table, with the three vectors of the root; `message` is the distance from the
 * end of these to what the union points at. */
static void add_root(struct buf *out, unsigned type, struct bytes message_id, struct bytes topic,
                     struct bytes txid, size_t message) {
  static const unsigned vtable[] = {14, 24, 20, 16, 15, 8, 4};
  size_t topic_at = HEAD + vector_size(message_id, false), txid_at = topic_at + vector_size(topic, false),
         end = txid_at + vector_size(txid, type == ENVELOPE_STREAM);
  buf_reserve(out, end + message + 8);
  add_u32(out, 20);
  add_u16(out, 0);
  add_u16s(out, vtable, sizeof vtable / sizeof *vtable);
  add_u32(out, 14);
  add_u32(out, HEAD - 24);
  add_u32(out, end + message - 28);
  add_u32(out, (size_t)type << 24);
  add_u32(out, topic_at - 36);
  add_u32(out, txid_at - 40);
  add_vector(out, message_id, false);
  add_vector(out, topic, false);
  add_vector(out, txid, type == ENVELOPE_STREAM);
}

void envelope_ack(struct buf *out, struct bytes txid, struct bytes topic) {
  const struct bytes empty = {NULL, 0};
  add_root(out, ENVELOPE_ACK, empty, topic, txid, 0);
  add_vector(out, empty, false);
}

void envelope_stream(struct buf *out, const struct envelope *in) {
  const unsigned created = in->created_at ? 16 : 0, sender = created ? 20 : 16; /* a default is not written */
  const unsigned vtable[] = {14, sender + 4, created, sender, 12, 8, 4};
  size_t device_type_at = sender + 4 + vector_size(in->device_id, false),
         payload_at = device_type_at + vector_size(in->device_type, false),
         sender_at = payload_at + vector_size(in->payload, false);
  add_root(out, ENVELOPE_STREAM, in->message_id, in->topic, in->txid, 14);
  add_u16s(out, vtable, sizeof vtable / sizeof *vtable);
  add_u32(out, 14);
  add_u32(out, sender); /* device_id follows the table */
  add_u32(out, device_type_at - 8);
  add_u32(out, payload_at - 12);
  if (created) add_u32(out, in->created_at);
  add_u32(out, sender_at - sender);
  add_vector(out, in->device_id, false);
  add_vector(out, in->device_type, false);
  add_vector(out, in->payload, false);
  add_vector(out, in->sender_id, false);
}

void envelope_refusal(struct buf *out, struct bytes txid) {
  envelope_stream(out, &(struct envelope){.txid = txid, .payload = bytes_of("incorrect message format")});
}
