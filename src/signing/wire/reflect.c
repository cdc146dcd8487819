#include "signing/wire/reflect.h"

#include "signing/wire/protobuf_fields.h"
#include "signing/wire/message.h"
#include "signing/wire/proto/car_server.pb-c.h"
#include "signing/wire/proto/universal_message.pb-c.h"
#include "signing/wire/proto/vcsec.pb-c.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  Type *type;
} types[] = {{"CarServer.Action", &fleet__car_server__action__descriptor},
             {"CarServer.Response", &fleet__car_server__response__descriptor},
             {"VCSEC.UnsignedMessage", &fleet__vcsec__unsigned_message__descriptor},
             {"VCSEC.FromVCSECMessage", &fleet__vcsec__from_vcsecmessage__descriptor},
             {"UniversalMessage.RoutableMessage", &fleet__universal_message__routable_message__descriptor},
             {"Signatures.SessionInfo", &fleet__signatures__session_info__descriptor}};

static Type *find_type(const char *name, struct err *e) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, name) == 0) return types[i].type;
  return err_set(e, KIND_invalid, "there is no message type '%s'", name), NULL;
}

/* ---- reading ---- */

/* The shortest decimal that is this float again; as a double it would show digits that were never sent. */
static double shortest(float f) {
  char text[32];
  double d = (double)f;
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)f);
    d = strtod(text, NULL);
    if ((float)d == f) break;
  }
  return d;
}

static void put_double(struct buf *out, double v) {
  if (!buf_json_number(out, v)) buf_text_add(out, "null"); /* JSON has no infinity */
}

static void put_enum(struct buf *out, Field *f, int value) {
  const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(f->descriptor, value);
  if (v)
    buf_json_string(out, bytes_of(v->name));
  else
    buf_format(out, "%d", value);
}

static void put_bytes(struct buf *out, const ProtobufCBinaryData *b) {
  buf_put(out, '"');
  buf_base64(out, (struct bytes){b->data, b->len});
  buf_put(out, '"');
}

static void put_message(struct buf *out, ProtobufCMessage *m, bool as_numbers);

#define MOST_DIGITS UINT64_C(1000000000000000) /* 15 digits: a double holds all of them */

/* Text, as JSON has it of numbers of 64 bits; as_numbers: where it is short, a number. */
static void put_integer(struct buf *out, bool negative, uint64_t v, bool as_numbers) {
  const char *quote = as_numbers && v < MOST_DIGITS ? "" : "\"";
  buf_format(out, "%s%s%" PRIu64 "%s", quote, negative ? "-" : "", v, quote);
}

static void put_one(struct buf *out, Field *f, const void *at, bool as_numbers) {
  int64_t wide;
  switch (f->type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_SFIXED32:
    buf_format(out, "%" PRId32, *(const int32_t *)at);
    return;
  case PROTOBUF_C_TYPE_UINT32:
  case PROTOBUF_C_TYPE_FIXED32:
    buf_format(out, "%" PRIu32, *(const uint32_t *)at);
    return;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_SFIXED64:
    wide = *(const int64_t *)at;
    put_integer(out, wide < 0, wide < 0 ? -(uint64_t)wide : (uint64_t)wide, as_numbers);
    return;
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
    put_integer(out, false, *(const uint64_t *)at, as_numbers);
    return;
  case PROTOBUF_C_TYPE_FLOAT:
    put_double(out, isfinite(*(const float *)at) ? shortest(*(const float *)at) : NAN);
    return;
  case PROTOBUF_C_TYPE_DOUBLE:
    put_double(out, *(const double *)at);
    return;
  case PROTOBUF_C_TYPE_BOOL:
    buf_text_add(out, *(const protobuf_c_boolean *)at ? "true" : "false");
    return;
  case PROTOBUF_C_TYPE_ENUM:
    put_enum(out, f, *(const int *)at);
    return;
  case PROTOBUF_C_TYPE_STRING:
    buf_json_string(out, bytes_of(*(char *const *)at));
    return;
  case PROTOBUF_C_TYPE_BYTES:
    put_bytes(out, at);
    return;
  case PROTOBUF_C_TYPE_MESSAGE:
    put_message(out, *(ProtobufCMessage *const *)at, as_numbers);
    return;
  }
}

static void put_list(struct buf *out, Field *f, ProtobufCMessage *m, bool as_numbers) {
  const char *items = *(char **)field_place(m, f);
  buf_put(out, '[');
  for (size_t i = 0; i < *field_count(m, f); i++) {
    if (i) buf_put(out, ',');
    put_one(out, f, items + i * field_size(f), as_numbers);
  }
  buf_put(out, ']');
}

static void put_message(struct buf *out, ProtobufCMessage *m, bool as_numbers) {
  const char *separator = "";
  buf_put(out, '{');
  for (unsigned i = 0; m && i < m->descriptor->n_fields; i++) {
    Field *f = &m->descriptor->fields[i];
    if (!field_is_there(m, f)) continue;
    buf_text_add(out, separator);
    buf_json_string(out, bytes_of(f->name));
    buf_put(out, ':');
    if (field_is_repeated(f))
      put_list(out, f, m, as_numbers);
    else
      put_one(out, f, field_place(m, f), as_numbers);
    separator = ",";
  }
  buf_put(out, '}');
}

bool members_json(const char *type, struct bytes message, bool as_numbers, struct buf *json, struct err *e) {
  struct arena a;
  Type *t = find_type(type, e);
  if (!t) return false;
  arena_start(&a, 4 * MESSAGE_LIMIT);
  ProtobufCMessage *m = message.size <= MESSAGE_LIMIT ? message_unpack(t, message, &a) : NULL;
  if (m)
    put_message(json, m, as_numbers);
  else
    err_set(e, KIND_protocol, "the bytes are no %s", type);
  arena_end(&a);
  return m && (buf_ok(json) || err_out_of_memory(e));
}

/* ---- writing ---- */

bool members_start(struct members *m, const char *type, struct err *e) {
  Type *t = find_type(type, e);
  arena_start(&m->arena, 4 * MESSAGE_LIMIT);
  m->root = t ? message_new(t, &m->arena) : NULL;
  return m->root != NULL;
}

void members_end(struct members *m) {
  m->root = NULL;
  arena_end(&m->arena);
}

static bool no_member(const char *path, struct err *e) {
  return err_set(e, KIND_invalid, "'%s' is no member of this message, or takes another value", path);
}

/* The leaf is looked up before anything is made on the way to it. */
static ProtobufCMessage *reach(struct members *m, const char *path, Field **f) {
  Field *leaf = path_leaf(m->root->descriptor, path_whole(path));
  return leaf ? path_holder(m->root, path_whole(path), f, &m->arena) : NULL;
}

bool members_number(struct members *m, const char *path, double value, struct err *e) {
  Field *f;
  ProtobufCMessage *in = reach(m, path, &f);
  if (!in || field_is_repeated(f)) return no_member(path, e);
  return (field_put_number(field_place(in, f), f, value) && field_mark(in, f)) || no_member(path, e);
}

bool members_text(struct members *m, const char *path, struct bytes value, struct err *e) {
  Field *f;
  double v;
  const char *text = (const char *)value.data;
  ProtobufCMessage *in = reach(m, path, &f);
  if (!in || field_is_repeated(f)) return no_member(path, e);
  if (f->type == PROTOBUF_C_TYPE_STRING) return field_put_text(in, f, value, &m->arena) || no_member(path, e);
  if (f->type == PROTOBUF_C_TYPE_BYTES) return field_put_bytes(in, f, value, &m->arena) || no_member(path, e);
  bool named = f->type == PROTOBUF_C_TYPE_ENUM && field_fixed_value(f, text, text + value.size, &v);
  return named ? members_number(m, path, v, e) : no_member(path, e);
}

bool members_message(struct members *m, const char *path, struct err *e) {
  Field *f;
  ProtobufCMessage *in = reach(m, path, &f);
  return (in && field_is_message(f) && field_enter(in, f, &m->arena)) || no_member(path, e);
}

bool members_write(struct members *m, struct buf *out, struct err *e) {
  return message_pack(m->root, out) || err_out_of_memory(e);
}
