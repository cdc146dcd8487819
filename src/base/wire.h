/* Reading protobuf's wire format field by field, without copies: doc/protocol.md#telemetry-stream.
 *
 * A message is a sequence of fields. Readers skip unknown fields. If a single field comes twice, the last one
 * counts, and two messages are merged: a reader fills the same object again.
 */
#ifndef FLEET_BASE_WIRE_H
#define FLEET_BASE_WIRE_H

#include "base/buf.h"

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP, WIRE_GROUP_END, WIRE_FIXED32 };

struct wire_field {
  unsigned number;
  enum wire_type type;
  uint64_t value;     /* of a varint, or the bits of a fixed number */
  struct bytes bytes; /* of WIRE_BYTES */
};

bool wire_varint(struct bytes *in, uint64_t *out); /* false: damaged, or more than 64 bits */
/* Takes the field at the front, a group with its content. false: damaged. */
bool wire_next(struct bytes *in, struct wire_field *f);
static inline bool wire_is(const struct wire_field *f, unsigned number, enum wire_type type) {
  return f->number == number && f->type == type;
}

/* The value of a member of 32 bits. An encoder may have cut a negative one to 32 bits. One that is longer is
 * given whole: cut, 2^32 + 4 would pass for 4. */
int64_t wire_int32(uint64_t value);
float wire_float(uint64_t bits);
double wire_double(uint64_t bits);

#endif
