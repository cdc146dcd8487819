#include "base/wire.h"

#include <string.h>

enum { GROUPS = 100 /* within each other */, LARGEST_NUMBER = (1 << 29) - 1 };

bool wire_varint(struct bytes *in, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (!in->size) return false;
    unsigned byte = *in->data;
    in->data++, in->size--;
    if (shift == 63 && byte > 1) return false;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

static bool take_bytes(struct bytes *in, uint64_t size, struct bytes *out) {
  if (size > in->size) return false;
  *out = (struct bytes){in->data, (size_t)size};
  in->data += size, in->size -= (size_t)size;
  return true;
}

static bool take_little_endian(struct bytes *in, unsigned size, uint64_t *out) {
  struct bytes digits;
  if (!take_bytes(in, size, &digits)) return false;
  *out = 0;
  for (unsigned i = 0; i < size; i++) *out |= (uint64_t)digits.data[i] << 8 * i;
  return true;
}

static bool take_field(struct bytes *in, struct wire_field *f, int depth);

static bool pass_group(struct bytes *in, unsigned number, int depth) {
  struct wire_field inner;
  do {
    if (depth > GROUPS || !take_field(in, &inner, depth)) return false;
  } while (inner.type != WIRE_GROUP_END);
  return inner.number == number;
}

static bool take_field(struct bytes *in, struct wire_field *f, int depth) {
  uint64_t key;
  if (!wire_varint(in, &key) || key >> 3 == 0 || key >> 3 > LARGEST_NUMBER) return false;
  *f = (struct wire_field){.number = (unsigned)(key >> 3), .type = (enum wire_type)(key & 7)};
  switch (f->type) {
  case WIRE_VARINT:
    return wire_varint(in, &f->value);
  case WIRE_FIXED64:
    return take_little_endian(in, 8, &f->value);
  case WIRE_BYTES:
    return wire_varint(in, &f->value) && take_bytes(in, f->value, &f->bytes);
  case WIRE_GROUP:
    return pass_group(in, f->number, depth + 1);
  case WIRE_GROUP_END:
    return depth > 0;
  case WIRE_FIXED32:
    return take_little_endian(in, 4, &f->value);
  }
  return false;
}

bool wire_next(struct bytes *in, struct wire_field *f) {
  return take_field(in, f, 0);
}

int64_t wire_int32(uint64_t value) {
  return value <= UINT32_MAX ? (int32_t)(uint32_t)value : (int64_t)value;
}

float wire_float(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}

double wire_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
