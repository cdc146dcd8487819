#include "signing/wire/protobuf_fields.h"

#include "base/wire.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- members of a message, by descriptor ---- */

size_t field_size(Field *f) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_DOUBLE:
    return 8;
  case PROTOBUF_C_TYPE_BOOL:
    return sizeof(protobuf_c_boolean);
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_MESSAGE:
    return sizeof(void *);
  case PROTOBUF_C_TYPE_BYTES:
    return sizeof(ProtobufCBinaryData);
  default:
    return 4;
  }
}

bool field_is_set(ProtobufCMessage *m, Field *f) {
  static const unsigned char zero[sizeof(ProtobufCBinaryData)];
  if (field_is_repeated(f)) return *field_count(m, f) > 0;
  if (f->type == PROTOBUF_C_TYPE_BYTES) return ((ProtobufCBinaryData *)field_place(m, f))->len > 0;
  if (f->type == PROTOBUF_C_TYPE_STRING) return **(char **)field_place(m, f) != '\0';
  return memcmp(field_place(m, f), zero, field_size(f)) != 0;
}

ProtobufCMessage *field_child(ProtobufCMessage *m, Field *f) {
  if (field_in_oneof(f) && *field_chosen(m, f) != f->id) return NULL;
  if (!field_is_repeated(f)) return *(ProtobufCMessage **)field_place(m, f);
  return *field_count(m, f) == 1 ? **(ProtobufCMessage ***)field_place(m, f) : NULL;
}

ProtobufCMessage *message_new(Type *type, struct arena *a) {
  ProtobufCMessage *m = arena_take(a, type->sizeof_message);
  if (m) protobuf_c_message_init(type, m);
  return m;
}

static ProtobufCMessage *put_child(ProtobufCMessage *m, Field *f, struct arena *a) {
  ProtobufCMessage *fresh = message_new(f->descriptor, a), **list;
  if (!fresh) return NULL;
  if (!field_is_repeated(f)) return *(ProtobufCMessage **)field_place(m, f) = fresh;
  if (!(list = arena_take(a, sizeof *list))) return NULL;
  *list = fresh;
  *(ProtobufCMessage ***)field_place(m, f) = list;
  *field_count(m, f) = 1;
  return fresh;
}

/* The message in this member, made when there is none. An empty message is still a statement: it must be
 * written. */
ProtobufCMessage *field_enter(ProtobufCMessage *m, Field *f, struct arena *a) {
  ProtobufCMessage *there = field_child(m, f);
  if (there) return there;
  if (field_in_oneof(f)) *field_chosen(m, f) = f->id;
  return put_child(m, f, a);
}

/* ---- paths ---- */

struct path path_of(const char *text, const char *end) {
  const char *equals = memchr(text, '=', (size_t)(end - text));
  return equals ? (struct path){text, equals, equals + 1, end, 0} : (struct path){text, end, NULL, NULL, 0};
}

struct path path_whole(const char *text) {
  return path_of(text, text + strlen(text));
}

bool path_is_base(const struct path *p) {
  return p->end - p->at == 1 && *p->at == '.';
}

enum { MOST_ELEMENTS = 200 };

/* "[n]" at the end of a word; 0: none, or no number that we take. *length becomes that of the name. */
static size_t element_of(const char *word, size_t *length) {
  const char *bracket = memchr(word, '[', *length);
  size_t n = 0;
  if (!bracket || word[*length - 1] != ']') return 0;
  for (const char *c = bracket + 1; c < word + *length - 1; c++) {
    if (*c < '0' || *c > '9' || n > MOST_ELEMENTS) return 0;
    n = n * 10 + (size_t)(*c - '0');
  }
  if (n > MOST_ELEMENTS) return 0;
  if (n) *length = (size_t)(bracket - word);
  return n;
}

/* The descriptors find by NUL-terminated name only. */
static Field *next_field(Type *type, struct path *p) {
  char word[64];
  const char *dot = memchr(p->at, '.', (size_t)(p->end - p->at)), *stop = dot ? dot : p->end;
  size_t length = (size_t)(stop - p->at);
  if (length == 0) return NULL;
  p->element = element_of(p->at, &length);
  if (length >= sizeof word) return NULL;
  memcpy(word, p->at, length);
  word[length] = '\0';
  p->at = dot ? dot + 1 : p->end;
  Field *f = protobuf_c_message_descriptor_get_field_by_name(type, word);
  return f && p->element && !(field_is_repeated(f) && field_is_message(f)) ? NULL : f;
}

Field *path_first(Type *type, struct path p) {
  return next_field(type, &p);
}

/* Grows the list, with empty elements, until it has so many. */
static bool grow(ProtobufCMessage *m, Field *f, size_t count, struct arena *a) {
  ProtobufCMessage **old = *(ProtobufCMessage ***)field_place(m, f);
  ProtobufCMessage **list = arena_take(a, count * sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < count; i++) {
    list[i] = i < *field_count(m, f) ? old[i] : message_new(f->descriptor, a);
    if (!list[i]) return false;
  }
  *(ProtobufCMessage ***)field_place(m, f) = list;
  *field_count(m, f) = count;
  return true;
}

static ProtobufCMessage *element(ProtobufCMessage *m, Field *f, size_t number, struct arena *a) {
  bool there = number <= *field_count(m, f) || (a && grow(m, f, number, a));
  return there ? (*(ProtobufCMessage ***)field_place(m, f))[number - 1] : NULL;
}

static ProtobufCMessage *step_into(ProtobufCMessage *m, Field *f, const struct path *p, struct arena *a) {
  if (!field_is_message(f)) return NULL;
  if (p->element) return element(m, f, p->element, a);
  return a ? field_enter(m, f, a) : field_child(m, f);
}

/* What the path names in the end; NULL when some word is no member. */
Field *path_leaf(Type *type, struct path p) {
  for (;;) {
    Field *f = next_field(type, &p);
    if (!f || p.at == p.end) return f;
    if (!field_is_message(f)) return NULL;
    type = f->descriptor;
  }
}

/* The message that holds the leaf, made on the way when a is given, else NULL when some part is absent. */
ProtobufCMessage *path_holder(ProtobufCMessage *m, struct path p, Field **f, struct arena *a) {
  for (;;) {
    *f = next_field(m->descriptor, &p);
    if (!*f) return NULL;
    if (p.at == p.end) return m;
    m = step_into(m, *f, &p, a);
    if (!m) return NULL;
  }
}

/* ---- writing one member ---- */

#define MOST_EXACT 9007199254740992.0 /* 2^53: beyond it a double skips integers */

static bool integral(double v, double min, double max) {
  return v >= min && v <= max && v == floor(v);
}

bool field_put_number(void *at, Field *f, double v) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT:
    return fabs(v) <= FLT_MAX ? (*(float *)at = (float)v, true) : false;
  case PROTOBUF_C_TYPE_DOUBLE:
    return isfinite(v) ? (*(double *)at = v, true) : false;
  case PROTOBUF_C_TYPE_BOOL:
    return *(protobuf_c_boolean *)at = v != 0, true;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_ENUM:
    return integral(v, INT32_MIN, INT32_MAX) ? (*(int32_t *)at = (int32_t)v, true) : false;
  case PROTOBUF_C_TYPE_UINT32:
    return integral(v, 0, UINT32_MAX) ? (*(uint32_t *)at = (uint32_t)v, true) : false;
  case PROTOBUF_C_TYPE_UINT64:
    return integral(v, 0, MOST_EXACT) ? (*(uint64_t *)at = (uint64_t)v, true) : false;
  case PROTOBUF_C_TYPE_INT64:
    return integral(v, -MOST_EXACT, MOST_EXACT) ? (*(int64_t *)at = (int64_t)v, true) : false;
  default:
    return false;
  }
}

bool field_mark(ProtobufCMessage *m, Field *f) {
  if (field_in_oneof(f)) *field_chosen(m, f) = f->id;
  return true;
}

static const ProtobufCEnumValue *enum_value(Field *f, const char *name, size_t length) {
  const ProtobufCEnumDescriptor *d = f->descriptor;
  for (unsigned i = 0; f->type == PROTOBUF_C_TYPE_ENUM && i < d->n_value_names; i++) {
    const ProtobufCEnumValueIndex *v = &d->values_by_name[i];
    if (strlen(v->name) == length && memcmp(v->name, name, length) == 0) return &d->values[v->index];
  }
  return NULL;
}

/* A fixed value of the notation as a number: true, digits, or the name of an enum value. */
bool field_fixed_value(Field *f, const char *text, const char *end, double *out) {
  size_t length = (size_t)(end - text);
  const ProtobufCEnumValue *named = enum_value(f, text, length);
  if (named) return *out = named->value, true;
  if (length == 4 && memcmp(text, "true", 4) == 0) return *out = 1, true;
  bool negative = *text == '-';
  double v = 0;
  for (const char *c = text + negative; c < end; c++) {
    if (*c < '0' || *c > '9') return false;
    v = v * 10 + (*c - '0');
  }
  return *out = negative ? -v : v, true;
}

bool field_put_bytes(ProtobufCMessage *m, Field *f, struct bytes value, struct arena *a) {
  unsigned char *copy = arena_take(a, value.size);
  if (!copy || f->type != PROTOBUF_C_TYPE_BYTES) return false;
  if (value.size) memcpy(copy, value.data, value.size);
  *(ProtobufCBinaryData *)field_place(m, f) = (ProtobufCBinaryData){value.size, copy};
  return field_mark(m, f);
}

bool field_put_text(ProtobufCMessage *m, Field *f, struct bytes text, struct arena *a) {
  char *copy = arena_take(a, text.size + 1);
  if (!copy || f->type != PROTOBUF_C_TYPE_STRING) return false;
  if (text.size) memcpy(copy, text.data, text.size);
  *(char **)field_place(m, f) = copy;
  return field_mark(m, f);
}

/* Is this scalar in the message, and what is it? Outside a oneof an absent one is its default. */
bool field_number(ProtobufCMessage *m, Field *f, double *out) {
  void *at = field_place(m, f);
  if (field_in_oneof(f) && *field_chosen(m, f) != f->id) return false;
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT:
    return *out = *(float *)at, true;
  case PROTOBUF_C_TYPE_DOUBLE:
    return *out = *(double *)at, true;
  case PROTOBUF_C_TYPE_BOOL:
    return *out = *(protobuf_c_boolean *)at, true;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_ENUM:
    return *out = *(int32_t *)at, true;
  case PROTOBUF_C_TYPE_UINT32:
    return *out = *(uint32_t *)at, true;
  case PROTOBUF_C_TYPE_UINT64:
    return *out = (double)*(uint64_t *)at, true;
  case PROTOBUF_C_TYPE_INT64:
    return *out = (double)*(int64_t *)at, true;
  default:
    return false;
  }
}

/* ---- reading a message ----
 *
 * protobuf-c keeps the low 32 bits of a longer number: 2^32 would read as 0, which means OK in most enums.
 * message_unpack therefore refuses a message with such a number.
 */

static bool skip(struct bytes *in, uint64_t size) {
  if (size > in->size) return false;
  in->data += size, in->size -= size;
  return true;
}

static bool fits_member(Field *f, uint64_t v) {
  bool negative = v >= UINT64_MAX - INT32_MAX; /* sign-extended to 64 bits */
  switch (f->type) {
  case PROTOBUF_C_TYPE_UINT32:
  case PROTOBUF_C_TYPE_SINT32:
    return v <= UINT32_MAX;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_ENUM:
    return v <= UINT32_MAX || negative;
  default:
    return true;
  }
}

static bool is_varint(Field *f) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT:
  case PROTOBUF_C_TYPE_DOUBLE:
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_SFIXED64:
    return false;
  default:
    return true;
  }
}

static bool fits_packed(Field *f, struct bytes list) {
  uint64_t v;
  while (list.size)
    if (!wire_varint(&list, &v) || !fits_member(f, v)) return false;
  return true;
}

static bool all_fit(Type *type, struct bytes in);

static bool fits_inside(Field *f, struct bytes content) {
  if (field_is_message(f)) return all_fit(f->descriptor, content);
  bool text = f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_BYTES;
  return text || !is_varint(f) || fits_packed(f, content);
}

/* f: NULL for an unknown member, which is skipped. */
static bool next_fits(Field *f, unsigned wire, struct bytes *in) {
  uint64_t v;
  switch (wire) {
  case PROTOBUF_C_WIRE_TYPE_VARINT:
    return wire_varint(in, &v) && (!f || fits_member(f, v));
  case PROTOBUF_C_WIRE_TYPE_64BIT:
    return skip(in, 8);
  case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
    if (!wire_varint(in, &v) || v > in->size) return false;
    if (f && !fits_inside(f, (struct bytes){in->data, (size_t)v})) return false;
    return skip(in, v);
  case PROTOBUF_C_WIRE_TYPE_32BIT:
    return skip(in, 4);
  default:
    return false;
  }
}

static bool all_fit(Type *type, struct bytes in) {
  uint64_t key;
  while (in.size) {
    if (!wire_varint(&in, &key) || key > UINT32_MAX) return false;
    Field *f = protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
    if (!next_fits(f, key & 7, &in)) return false;
  }
  return true;
}

ProtobufCMessage *message_unpack(Type *type, struct bytes in, struct arena *a) {
  ProtobufCAllocator allocator = allocator_of(a);
  if (!all_fit(type, in)) return NULL;
  return protobuf_c_message_unpack(type, &allocator, in.size, in.data);
}

Field *message_set_member(ProtobufCMessage *m) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    Field *f = &m->descriptor->fields[i];
    if (field_in_oneof(f) && *field_chosen(m, f) == f->id) return f;
  }
  return NULL;
}
