#include "stream/payload.h"

#include "base/utf8.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool is_text(struct bytes text) {
  size_t i = 0, n = 1;
  for (; i < text.size && n; i += n) n = utf8_sequence((struct bytes){text.data + i, text.size - i});
  return n;
}

static enum wire_type wire_of(const ProtobufCFieldDescriptor *f) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT:
    return WIRE_FIXED32;
  case PROTOBUF_C_TYPE_DOUBLE:
    return WIRE_FIXED64;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_MESSAGE:
    return WIRE_BYTES;
  default:
    return WIRE_VARINT;
  }
}

/* NULL: a field that is not known, or of another type than its own. */
static const ProtobufCFieldDescriptor *known(const ProtobufCMessageDescriptor *type,
                                             const struct wire_field *f) {
  const ProtobufCFieldDescriptor *found = protobuf_c_message_descriptor_get_field(type, f->number);
  return found && wire_of(found) == f->type ? found : NULL;
}

/* A place, doors, tyres, a time of day: numbers alone. */
static bool read_parts(const ProtobufCMessageDescriptor *type, struct bytes in, uint64_t parts[VALUE_PARTS]) {
  struct wire_field f;
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    const ProtobufCFieldDescriptor *part = known(type, &f);
    if (part && part - type->fields < VALUE_PARTS) parts[part - type->fields] = f.value;
  }
  return true;
}

static bool read_value(struct bytes in, struct value *v) {
  struct wire_field f;
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    const ProtobufCFieldDescriptor *member = known(&fleet__telemetry__vehicle_data__value__descriptor, &f);
    if (!member) continue;
    if (member != v->member) *v = (struct value){.member = member};
    switch (member->type) {
    case PROTOBUF_C_TYPE_STRING:
      if (!is_text(f.bytes)) return false;
      v->text = f.bytes;
      break;
    case PROTOBUF_C_TYPE_MESSAGE:
      if (!read_parts(member->descriptor, f.bytes, v->parts)) return false;
      break;
    case PROTOBUF_C_TYPE_FLOAT:
      v->real = wire_float(f.value);
      break;
    case PROTOBUF_C_TYPE_DOUBLE:
      v->real = wire_double(f.value);
      break;
    case PROTOBUF_C_TYPE_BOOL:
      v->number = f.value != 0;
      break;
    case PROTOBUF_C_TYPE_INT64:
      v->number = (int64_t)f.value;
      break;
    default:
      v->number = wire_int32(f.value);
      break;
    }
  }
  return true;
}

bool signal_read(struct bytes in, struct signal *s) {
  struct wire_field f;
  *s = (struct signal){0};
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    if (wire_is(&f, 1, WIRE_VARINT)) s->field = wire_int32(f.value);
    if (!wire_is(&f, 2, WIRE_BYTES)) continue;
    s->given = true;
    if (!read_value(f.bytes, &s->value)) return false;
  }
  return true;
}

const char *enum_name(const ProtobufCEnumDescriptor *type, int64_t number) {
  if (number < 0 || number > INT_MAX) return NULL;
  const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, (int)number);
  return found ? found->name : NULL;
}

const char *signal_name(int64_t field) {
  return enum_name(&fleet__telemetry__vehicle_data__field__descriptor, field);
}

bool value_is_invalid(const struct value *v) {
  return !v->member || v->member->id == FLEET__TELEMETRY__VEHICLE_DATA__VALUE__VALUE_INVALID;
}

void value_clock(const uint64_t parts[VALUE_PARTS], char *text, size_t size) {
  snprintf(text, size, "%02lld:%02lld:%02lld", (long long)wire_int32(parts[0]),
           (long long)wire_int32(parts[1]), (long long)wire_int32(parts[2]));
}

double shortest_float(float value) {
  char text[32];
  double shortest = (double)value;
  int fewest = fabsf(value) < FLT_MIN ? 1 : 6; /* below FLT_MIN a float has fewer significant digits */
  for (int digits = fewest; digits <= 9 && isfinite(value); digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    shortest = strtod(text, NULL);
    if ((float)shortest == value) break;
  }
  return shortest;
}

bool instant_read(struct bytes in, struct instant *t) {
  struct wire_field f;
  t->given = true;
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    if (wire_is(&f, 1, WIRE_VARINT)) t->seconds = (int64_t)f.value;
    if (wire_is(&f, 2, WIRE_VARINT)) t->nanoseconds = wire_int32(f.value);
  }
  return true;
}
