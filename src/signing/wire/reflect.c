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

/* The shortest decimal that reads as the same float: printed as a double it would have digits that the
 * vehicle never sent. */
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

/* Protobuf's JSON writes 64-bit integers as text. as_numbers: a short one is a number. */
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

struct writer {
  struct arena arena;
  ProtobufCMessage *root;
};

static bool put_number(struct writer *w, ProtobufCMessage *in, Field *f, double value) {
  (void)w;
  return !field_is_repeated(f) && field_put_number(field_place(in, f), f, value) && field_mark(in, f);
}

static bool put_text(struct writer *w, ProtobufCMessage *in, Field *f, struct bytes value) {
  double number;
  const char *text = (const char *)value.data;
  if (field_is_repeated(f)) return false;
  if (f->type == PROTOBUF_C_TYPE_STRING) return field_put_text(in, f, value, &w->arena);
  if (f->type == PROTOBUF_C_TYPE_BYTES) return field_put_bytes(in, f, value, &w->arena);
  return f->type == PROTOBUF_C_TYPE_ENUM && field_fixed_value(f, text, text + value.size, &number) &&
         put_number(w, in, f, number);
}

/* The whole path is checked before any message is made for it. */
static bool put_member(struct writer *w, const char *path, const struct node *value) {
  Field *f, *leaf = path_leaf(w->root->descriptor, path_whole(path));
  ProtobufCMessage *in = leaf ? path_holder(w->root, path_whole(path), &f, &w->arena) : NULL;
  double number;
  if (!in) return false;
  if (node_is(value, NODE_BOOLEAN)) return put_number(w, in, f, value->boolean);
  if (node_as_number(value, &number)) return put_number(w, in, f, number);
  if (node_is(value, NODE_TEXT)) return put_text(w, in, f, value->text);
  bool message = node_is(value, NODE_OBJECT) || node_is(value, NODE_LIST);
  return message && field_is_message(f) && field_enter(in, f, &w->arena);
}

static bool put_members(struct writer *w, const struct node *members, struct err *e) {
  for (const struct node *m = members->first; m; m = m->next) {
    char path[256];
    if (m->key != KEY_NAME) return err_set(e, KIND_invalid, "members are given by their paths");
    bool fits = m->name.size < sizeof path;
    snprintf(path, sizeof path, "%.*s", (int)(fits ? m->name.size : 0), (const char *)m->name.data);
    if (!put_member(w, path, m))
      return err_set(e, KIND_invalid, "'%s' is no member of this message, or takes another value", path);
  }
  return true;
}

bool members_encode(const char *type, const struct node *members, struct buf *out, struct err *e) {
  struct writer w;
  Type *t = find_type(type, e);
  arena_start(&w.arena, 4 * MESSAGE_LIMIT);
  w.root = t ? message_new(t, &w.arena) : NULL;
  bool ok = w.root && put_members(&w, members, e) && (message_pack(w.root, out) || err_out_of_memory(e));
  if (t && !w.root) err_out_of_memory(e);
  arena_end(&w.arena);
  return ok;
}
