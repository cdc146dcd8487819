#include "stream/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_number(struct buf *out, double value) {
  if (!buf_json_number(out, value)) buf_text_add(out, "null");
}

static void put_place(struct buf *out, double latitude, double longitude) {
  buf_text_add(out, "{\"latitude\":");
  put_number(out, latitude);
  buf_text_add(out, ",\"longitude\":");
  put_number(out, longitude);
  buf_put(out, '}');
}

/* ---- texts ---- */

static bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

/* A number with a point and an exponent, such as 1.5e-3, without the point: its digits, and the exponent of
 * the last one. false: another text. */
static bool read_scientific(struct bytes text, char *digits, size_t size, long *exponent) {
  size_t i = 0, count = 0, sign = 0, behind = 0;
  bool point = false;
  char number[16];
  if (text.size >= size) return false;
  if (i < text.size && (text.data[i] == '-' || text.data[i] == '+')) digits[sign++] = (char)text.data[i++];
  for (; i < text.size && (is_digit(text.data[i]) || (text.data[i] == '.' && !point)); i++) {
    if (text.data[i] == '.') {
      point = true;
    } else {
      digits[sign + count++] = (char)text.data[i];
      behind += point;
    }
  }
  digits[sign + count] = 0;
  if (!point || !count || i + 1 >= text.size || (text.data[i] | 32) != 'e') return false;
  struct bytes rest = {text.data + i + 1, text.size - i - 1};
  if (rest.size >= sizeof number) return false;
  memcpy(number, rest.data, rest.size);
  number[rest.size] = 0;
  size_t first = number[0] == '-' || number[0] == '+';
  if (!number[first] || strspn(number + first, "0123456789") != rest.size - first) return false;
  *exponent = strtol(number, NULL, 10) - (long)behind;
  return true;
}

static void put_text(struct buf *out, struct bytes text) {
  char digits[64], number[96];
  long exponent;
  struct buf fixed = BUF_INIT;
  if (read_scientific(text, digits, sizeof digits, &exponent)) {
    snprintf(number, sizeof number, "%se%ld", digits, exponent); /* no point: the same in every locale */
    float value = strtof(number, NULL);
    if (isfinite(value)) buf_fixed(&fixed, (double)value, 5);
  }
  buf_json_string(out, fixed.size ? buf_bytes(&fixed) : text);
  if (fixed.failed) out->failed = true;
  buf_free(&fixed);
}

/* "37.4 N" at the front, with the letters of the two sides. */
static bool read_degrees(struct bytes *in, const char *sides, double *degrees) {
  char number[32];
  size_t size = 0, digits = 0;
  double scale = 1, value = 0;
  bool point = false;
  for (; size < in->size && size < sizeof number - 1; size++) {
    unsigned char c = in->data[size];
    if (size == 0 && (c == '-' || c == '+')) continue;
    if (c == '.' && !point) {
      point = true;
    } else if (is_digit(c)) {
      value = value * 10 + (c - '0');
      scale *= point ? 10 : 1;
      digits++;
    } else {
      break;
    }
  }
  if (!digits || in->size < size + 2 || in->data[size] != ' ') return false;
  char side = (char)in->data[size + 1];
  if (!side || !strchr(sides, side)) return false;
  *degrees = value / scale * ((in->data[0] == '-') == (side == sides[1]) ? 1 : -1);
  in->data += size + 2, in->size -= size + 2;
  return true;
}

static bool starts(struct bytes *in, const char *word) {
  size_t size = strlen(word);
  if (in->size < size || memcmp(in->data, word, size) != 0) return false;
  in->data += size, in->size -= size;
  return true;
}

/* "(37.412374 N, 122.145867 W)" */
static bool put_place_text(struct buf *out, struct bytes text) {
  double latitude, longitude;
  if (!starts(&text, "(") || !read_degrees(&text, "NS", &latitude) || !starts(&text, ", ") ||
      !read_degrees(&text, "EW", &longitude) || !starts(&text, ")"))
    return false;
  put_place(out, latitude, longitude);
  return true;
}

/* ---- enums and messages ---- */

/* The maker's server writes an enum's number that has no name as text, but of these members as a number. */
static bool is_plain_number(unsigned member) {
  return member == FLEET__TELEMETRY__VEHICLE_DATA__VALUE__VALUE_CHARGING_VALUE ||
         (member >= FLEET__TELEMETRY__VEHICLE_DATA__VALUE__VALUE_HVAC_AUTO_MODE_VALUE &&
          member <= FLEET__TELEMETRY__VEHICLE_DATA__VALUE__VALUE_CHARGE_UNIT_PREFERENCE_VALUE);
}

static void put_enum(struct buf *out, const struct value *v) {
  const char *name = enum_name(v->member->descriptor, v->number);
  const char *quote = name || !is_plain_number(v->member->id) ? "\"" : "";
  buf_text_add(out, quote);
  if (name)
    buf_text_add(out, name);
  else
    buf_integer(out, v->number);
  buf_text_add(out, quote);
}

/* Doors are all there, tyres only where they are true. */
static void put_booleans(struct buf *out, const ProtobufCMessageDescriptor *type, const uint64_t *parts) {
  bool all = type == &fleet__telemetry__vehicle_data__doors__descriptor;
  const char *between = "{\"";
  for (unsigned i = 0; i < type->n_fields && i < VALUE_PARTS; i++) {
    if (!all && !parts[i]) continue;
    buf_text_add(out, between);
    buf_text_add(out, type->fields[i].name);
    buf_text_add(out, parts[i] ? "\":true" : "\":false");
    between = ",\"";
  }
  buf_text_add(out, between[0] == '{' ? "{}" : "}");
}

static void put_message(struct buf *out, const struct value *v) {
  const ProtobufCMessageDescriptor *type = v->member->descriptor;
  char clock[80];
  if (type == &fleet__telemetry__vehicle_data__location_value__descriptor) {
    put_place(out, wire_double(v->parts[0]), wire_double(v->parts[1]));
  } else if (type == &fleet__telemetry__vehicle_data__time__descriptor) {
    value_clock(v->parts, clock, sizeof clock);
    buf_json_string(out, bytes_of(clock));
  } else {
    put_booleans(out, type, v->parts);
  }
}

void published_json(const struct signal *s, bool place, struct buf *out) {
  const struct value *v = &s->value;
  if (!v->member) {
    buf_text_add(out, s->given ? "{}" : "null");
    return;
  }
  if (value_is_invalid(v)) {
    buf_text_add(out, "null");
    return;
  }
  switch (v->member->type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_INT64:
    buf_integer(out, v->number);
    break;
  case PROTOBUF_C_TYPE_FLOAT:
    put_number(out, shortest_float((float)v->real));
    break;
  case PROTOBUF_C_TYPE_DOUBLE:
    put_number(out, v->real);
    break;
  case PROTOBUF_C_TYPE_BOOL:
    buf_text_add(out, v->number ? "true" : "false");
    break;
  case PROTOBUF_C_TYPE_ENUM:
    put_enum(out, v);
    break;
  case PROTOBUF_C_TYPE_MESSAGE:
    put_message(out, v);
    break;
  default:
    if (!place || !put_place_text(out, v->text)) put_text(out, v->text);
    break;
  }
}
