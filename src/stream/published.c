#include "stream/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the maker's server writes numbers, which is as JavaScript does: from 1e-6 to 1e21 without an exponent.
 */
static void put_number(struct buf *out, double value) {
  char text[32], digits[24];
  double size = fabs(value);
  if (!isfinite(value)) {
    buf_text_add(out, "null");
    return;
  }
  if (size == 0 || (size >= 1e-4 && size < 1e15)) {
    buf_json_number(out, value);
    return;
  }
  for (int precision = 0; precision <= 16; precision++) {
    snprintf(text, sizeof text, "%.*e", precision, size);
    if (strtod(text, NULL) == size) break;
  }
  int exponent = atoi(strchr(text, 'e') + 1), count = 0;
  for (const char *at = text; *at != 'e'; at++) /* the point depends on the locale */
    if (*at >= '0' && *at <= '9') digits[count++] = *at;
  bool plain = size >= 1e-6 && size < 1e21;
  int before = !plain ? 1 : exponent >= 0 ? exponent + 1 : 0; /* digits before the point */
  if (value < 0) buf_put(out, '-');
  if (!before) buf_put(out, '0');
  for (int i = 0; i < before; i++) buf_put(out, i < count ? (unsigned char)digits[i] : '0');
  if (before < count) buf_put(out, '.');
  for (int i = exponent + 1; plain && i < 0; i++) buf_put(out, '0');
  for (int i = before; i < count; i++) buf_put(out, (unsigned char)digits[i]);
  if (!plain) buf_format(out, "e%+d", exponent);
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

struct number {
  char text[512]; /* without the point: the same in every locale */
  bool point, exponent;
};

/* Takes a number off the front of *in. */
static bool take_number(struct bytes *in, struct number *n) {
  const size_t room = sizeof n->text - 32; /* beside the exponent */
  const long most = 1000000;               /* above it an exponent makes no difference */
  size_t i = 0, size = 0, digits = 0;
  long shift = 0, exponent = 0;
  n->point = n->exponent = false;
  if (in->size && (in->data[0] == '-' || in->data[0] == '+')) n->text[size++] = (char)in->data[i++];
  for (; i < in->size && size < room; i++) {
    if (in->data[i] == '.' && !n->point) {
      n->point = true;
    } else if (is_digit(in->data[i])) {
      n->text[size++] = (char)in->data[i];
      digits++;
      shift -= n->point;
    } else {
      break;
    }
  }
  if (!digits || size == room) return false;
  if (i < in->size && (in->data[i] | 32) == 'e') {
    n->exponent = true;
    bool negative = ++i < in->size && in->data[i] == '-';
    if (i < in->size && (in->data[i] == '-' || in->data[i] == '+')) i++;
    if (i == in->size || !is_digit(in->data[i])) return false;
    for (; i < in->size && is_digit(in->data[i]); i++)
      if (exponent < most) exponent = exponent * 10 + (in->data[i] - '0');
    if (negative) exponent = -exponent;
  }
  snprintf(n->text + size, sizeof n->text - size, "e%ld", exponent + shift);
  in->data += i, in->size -= i;
  return true;
}

static void put_text(struct buf *out, struct bytes text) {
  struct number n;
  struct bytes rest = text;
  struct buf fixed = BUF_INIT;
  if (take_number(&rest, &n) && n.point && n.exponent && !rest.size) {
    float value = strtof(n.text, NULL);
    if (isfinite(value)) {
      if (signbit(value)) buf_put(&fixed, '-');
      buf_fixed(&fixed, (double)fabsf(value), 5);
    }
  }
  buf_json_string(out, fixed.size ? buf_bytes(&fixed) : text);
  if (fixed.failed) out->failed = true;
  buf_free(&fixed);
}

static bool skip_spaces(struct bytes *in) {
  size_t before = in->size;
  while (in->size && (in->data[0] == ' ' || in->data[0] == '\t')) in->data++, in->size--;
  return in->size < before;
}

/* "37.4 N" at the front, with the letters of the two sides. */
static bool read_degrees(struct bytes *in, const char *sides, double *degrees) {
  struct number n;
  skip_spaces(in);
  if (!take_number(in, &n) || !skip_spaces(in) || !in->size) return false;
  char side = (char)in->data[0];
  if (!side || !strchr(sides, side)) return false;
  *degrees = strtod(n.text, NULL) * (side == sides[1] ? -1 : 1);
  if (!isfinite(*degrees)) return false;
  in->data++, in->size--;
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
  if (!starts(&text, "(") || !read_degrees(&text, "NS", &latitude) || !starts(&text, ",") ||
      !skip_spaces(&text) || !read_degrees(&text, "EW", &longitude) || !starts(&text, ")"))
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
    unsigned at = type->fields_sorted_by_name[i];
    if (!all && !parts[at]) continue;
    buf_text_add(out, between);
    buf_text_add(out, type->fields[at].name);
    buf_text_add(out, parts[at] ? "\":true" : "\":false");
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
