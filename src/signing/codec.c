#include "signing/codec.h"

#include "signing/proto/car_server.pb-c.h"
#include "signing/proto/vcsec.pb-c.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef const ProtobufCFieldDescriptor Field;
typedef const ProtobufCMessageDescriptor Type;

static Type *type_of(enum domain domain) {
  return domain == DOMAIN_VCSEC ? &fleet__vcsec__unsigned_message__descriptor : &fleet__car_server__action__descriptor;
}

const struct row *command_row(const char *name) {
  for (const struct row *r = command_rows; r->name; r++)
    if (strcmp(r->name, name) == 0) return r;
  return NULL;
}

/* ---- members of a message, by descriptor ---- */

static void *place(ProtobufCMessage *m, Field *f) {
  return (char *)m + f->offset;
}

static bool in_oneof(Field *f) {
  return f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static bool is_message(Field *f) {
  return f->type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_repeated(Field *f) {
  return f->label == PROTOBUF_C_LABEL_REPEATED;
}

/* How many elements a repeated member has, or which member of a oneof is set. */
static size_t *counter(ProtobufCMessage *m, Field *f) {
  return (size_t *)(void *)((char *)m + f->quantifier_offset);
}

static uint32_t *chosen(ProtobufCMessage *m, Field *f) {
  return (uint32_t *)(void *)((char *)m + f->quantifier_offset);
}

/* The message in this member: its one element where the member is repeated; NULL when there is none. */
static ProtobufCMessage *child(ProtobufCMessage *m, Field *f) {
  if (in_oneof(f) && *chosen(m, f) != f->id) return NULL;
  if (!is_repeated(f)) return *(ProtobufCMessage **)place(m, f);
  return *counter(m, f) == 1 ? **(ProtobufCMessage ***)place(m, f) : NULL;
}

static ProtobufCMessage *new_message(Type *type, struct arena *a) {
  ProtobufCMessage *m = arena_take(a, type->sizeof_message);
  if (m) protobuf_c_message_init(type, m);
  return m;
}

static ProtobufCMessage *put_child(ProtobufCMessage *m, Field *f, struct arena *a) {
  ProtobufCMessage *fresh = new_message(f->descriptor, a), **list;
  if (!fresh) return NULL;
  if (!is_repeated(f)) return *(ProtobufCMessage **)place(m, f) = fresh;
  if (!(list = arena_take(a, sizeof *list))) return NULL;
  *list = fresh;
  *(ProtobufCMessage ***)place(m, f) = list;
  *counter(m, f) = 1;
  return fresh;
}

/* The message in this member, made when there is none. An empty message is still a statement: it must be written. */
static ProtobufCMessage *enter(ProtobufCMessage *m, Field *f, struct arena *a) {
  ProtobufCMessage *there = child(m, f);
  if (there) return there;
  if (in_oneof(f)) *chosen(m, f) = f->id;
  return put_child(m, f, a);
}

/* ---- paths ---- */

struct path { /* "a.b.c=VALUE", cut into words while walking */
  const char *at, *end, *value, *value_end;
};

static struct path path_of(const char *text, const char *end) {
  const char *equals = memchr(text, '=', (size_t)(end - text));
  return equals ? (struct path){text, equals, equals + 1, end} : (struct path){text, end, NULL, NULL};
}

static struct path whole_path(const char *text) {
  return path_of(text, text + strlen(text));
}

static bool at_base(const struct path *p) {
  return p->end - p->at == 1 && *p->at == '.';
}

/* The descriptors find by NUL-terminated name only. */
static Field *next_field(Type *type, struct path *p) {
  char word[64];
  const char *dot = memchr(p->at, '.', (size_t)(p->end - p->at)), *stop = dot ? dot : p->end;
  size_t length = (size_t)(stop - p->at);
  if (length == 0 || length >= sizeof word) return NULL;
  memcpy(word, p->at, length);
  word[length] = '\0';
  p->at = dot ? dot + 1 : p->end;
  return protobuf_c_message_descriptor_get_field_by_name(type, word);
}

/* What the path names in the end; NULL when some word is no member. */
static Field *leaf(Type *type, struct path p) {
  for (;;) {
    Field *f = next_field(type, &p);
    if (!f || p.at == p.end) return f;
    if (!is_message(f)) return NULL;
    type = f->descriptor;
  }
}

/* The message that holds the leaf, made on the way when a is given, else NULL when some part is absent. */
static ProtobufCMessage *holder(ProtobufCMessage *m, struct path p, Field **f, struct arena *a) {
  for (;;) {
    *f = next_field(m->descriptor, &p);
    if (!*f) return NULL;
    if (p.at == p.end) return m;
    m = is_message(*f) ? (a ? enter(m, *f, a) : child(m, *f)) : NULL;
    if (!m) return NULL;
  }
}

/* ---- writing one member ---- */

static bool integral(double v, double min, double max) {
  return v >= min && v <= max && v == floor(v);
}

static bool put_number(void *at, Field *f, double v) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT: return fabs(v) <= FLT_MAX ? (*(float *)at = (float)v, true) : false;
  case PROTOBUF_C_TYPE_DOUBLE: return isfinite(v) ? (*(double *)at = v, true) : false;
  case PROTOBUF_C_TYPE_BOOL: return *(protobuf_c_boolean *)at = v != 0, true;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_ENUM: return integral(v, INT32_MIN, INT32_MAX) ? (*(int32_t *)at = (int32_t)v, true) : false;
  case PROTOBUF_C_TYPE_UINT32: return integral(v, 0, UINT32_MAX) ? (*(uint32_t *)at = (uint32_t)v, true) : false;
  case PROTOBUF_C_TYPE_UINT64: return integral(v, 0, 9007199254740992.0) ? (*(uint64_t *)at = (uint64_t)v, true) : false;
  default: return false;
  }
}

static bool mark(ProtobufCMessage *m, Field *f) {
  if (in_oneof(f)) *chosen(m, f) = f->id;
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
static bool fixed_value(Field *f, const char *text, const char *end, double *out) {
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

/* One item of the notation: a message that is present, or a member with its value. */
static ProtobufCMessage *put_item(ProtobufCMessage *m, struct path p, struct arena *a) {
  Field *f;
  double v;
  ProtobufCMessage *in = holder(m, p, &f, a);
  if (!in) return NULL;
  if (!p.value) return is_message(f) ? enter(in, f, a) : NULL;
  return fixed_value(f, p.value, p.value_end, &v) && put_number(place(in, f), f, v) && mark(in, f) ? in : NULL;
}

static bool put_text(ProtobufCMessage *m, Field *f, struct bytes text, struct arena *a) {
  char *copy = arena_take(a, text.size + 1);
  if (!copy || f->type != PROTOBUF_C_TYPE_STRING) return false;
  if (text.size) memcpy(copy, text.data, text.size);
  *(char **)place(m, f) = copy;
  return mark(m, f);
}

/* ---- parameters ---- */

static const char *spelling(const struct choice *c) {
  return c->field ? c->field : c->text;
}

static bool put_choice(ProtobufCMessage *m, Field *f, const struct choice *c, struct arena *a) {
  double v = c->number;
  const char *word = spelling(c);
  if (f->type == PROTOBUF_C_TYPE_STRING) return word && put_text(m, f, bytes_of(word), a);
  if (word && !fixed_value(f, word, word + strlen(word), &v)) return false;
  return put_number(place(m, f), f, v) && mark(m, f);
}

static bool put_integer(ProtobufCMessage *m, Field *f, uint64_t v) {
  if (f->type == PROTOBUF_C_TYPE_UINT64) *(uint64_t *)place(m, f) = v;
  else if (!put_number(place(m, f), f, (double)v)) return false;
  return mark(m, f);
}

static bool put_scalar(ProtobufCMessage *m, Field *f, const struct param *p, const struct value *v, struct arena *a) {
  if (v->choice) return put_choice(m, f, v->choice, a);
  if (p->type == TYPE_STRING) return put_text(m, f, v->text, a);
  if (p->type == TYPE_ID || p->type == TYPE_DAYS) return put_integer(m, f, v->integer);
  return put_number(place(m, f), f, p->type == TYPE_BOOLEAN ? v->boolean : v->number) && mark(m, f);
}

/* A choice below a message, or a boolean that makes a message present. */
static bool put_presence(ProtobufCMessage *base, const struct path *p, const struct param *param, const struct value *v,
                         struct arena *a) {
  if (param->type == TYPE_BOOLEAN && !v->boolean) return true;
  ProtobufCMessage *m = at_base(p) ? base : put_item(base, *p, a);
  if (!m || param->type == TYPE_BOOLEAN) return m != NULL;
  return v->choice && v->choice->field && put_item(m, whole_path(v->choice->field), a);
}

static bool put_parameter(ProtobufCMessage *base, const struct param *param, const struct value *v, struct arena *a) {
  struct path p = whole_path(param->field);
  Field *f = at_base(&p) ? NULL : leaf(base->descriptor, p);
  if (!f && !at_base(&p)) return false;
  if (!f || is_message(f)) return put_presence(base, &p, param, v, a);
  ProtobufCMessage *m = holder(base, p, &f, a);
  return m && put_scalar(m, f, param, v, a);
}

static bool put_parameters(ProtobufCMessage *base, const struct row *row, const struct value *values, double wall,
                           struct arena *a, struct err *e) {
  for (int pass = 0; pass < 2; pass++) /* a switch that is off silences the others, wherever it stands */
    for (size_t i = 0; row->params && row->params[i].name; i++) {
      const struct param *p = &row->params[i];
      struct value v = values[i];
      bool is_switch = p->flags & SWITCH;
      if (!p->field || is_switch != (pass == 0)) continue;
      if (!v.given && p->flags & NOW) v.given = true, v.integer = wall > 0 ? (uint64_t)wall : 0;
      if (v.given && !put_parameter(base, p, &v, a))
        return err_set(e, KIND_invalid, "%s: %s does not fit into the vehicle's message", row->name, p->name);
      if (is_switch && !v.boolean) return true;
    }
  return true;
}

/* The fixed part of a row; *base is where its parameters start. */
static bool put_items(ProtobufCMessage *root, const char *items, ProtobufCMessage **base, struct arena *a) {
  *base = root;
  while (*items) {
    const char *end = strchr(items, ';'), *stop = end ? end : items + strlen(items);
    struct path p = path_of(items, stop);
    ProtobufCMessage *m = put_item(*base, p, a);
    if (!m) return false;
    if (*base == root && !p.value) *base = m;
    items = end ? end + 1 + strspn(end + 1, " ") : stop;
  }
  return true;
}

static ProtobufCMessage *build(const struct row *row, const struct value *values, double wall, struct arena *a, struct err *e) {
  ProtobufCMessage *root = new_message(type_of(row->domain), a), *base;
  if (!root) return err_out_of_memory(e), NULL;
  if (!put_items(root, row->message, &base, a)) return err_set(e, KIND_invalid, "%s has no usable message", row->name), NULL;
  return put_parameters(base, row, values, wall, a, e) ? root : NULL;
}

static bool pack(const ProtobufCMessage *m, struct buf *out) {
  if (!buf_reserve(out, protobuf_c_message_get_packed_size(m))) return false;
  out->size += protobuf_c_message_pack(m, out->data + out->size);
  out->data[out->size] = '\0';
  return true;
}

enum { COMMAND_LIMIT = 1 << 16 };

bool codec_encode(const struct row *row, const struct value *values, double wall, struct buf *out, struct err *e) {
  struct arena a;
  if (!row->message) return err_set(e, KIND_unsupported, "%s has no signed form", row->name);
  arena_start(&a, COMMAND_LIMIT);
  ProtobufCMessage *root = build(row, values, wall, &a, e);
  bool ok = root && (pack(root, out) || err_out_of_memory(e));
  arena_end(&a);
  return ok;
}

/* ---- back ---- */

static ProtobufCMessage *unpack(Type *type, struct bytes in, struct arena *a) {
  return protobuf_c_message_unpack(type, &a->allocator, in.size, in.data);
}

/* Is this scalar in the message, and what is it? Outside a oneof an absent one is its default. */
static bool get_number(ProtobufCMessage *m, Field *f, double *out) {
  void *at = place(m, f);
  if (in_oneof(f) && *chosen(m, f) != f->id) return false;
  switch (f->type) {
  case PROTOBUF_C_TYPE_FLOAT: return *out = *(float *)at, true;
  case PROTOBUF_C_TYPE_DOUBLE: return *out = *(double *)at, true;
  case PROTOBUF_C_TYPE_BOOL: return *out = *(protobuf_c_boolean *)at, true;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_ENUM: return *out = *(int32_t *)at, true;
  case PROTOBUF_C_TYPE_UINT32: return *out = *(uint32_t *)at, true;
  case PROTOBUF_C_TYPE_UINT64: return *out = (double)*(uint64_t *)at, true;
  default: return false;
  }
}

static ProtobufCMessage *find_item(ProtobufCMessage *m, struct path p) {
  Field *f;
  double v, wanted;
  ProtobufCMessage *in = holder(m, p, &f, NULL);
  if (!in) return NULL;
  if (!p.value) return is_message(f) ? child(in, f) : NULL;
  return fixed_value(f, p.value, p.value_end, &wanted) && get_number(in, f, &v) && v == wanted ? in : NULL;
}

static const struct choice *choice_below(ProtobufCMessage *m, const struct param *p) {
  for (const struct choice *c = p->choices; c && c->name; c++)
    if (c->field && find_item(m, whole_path(c->field))) return c;
  return NULL;
}

static const struct choice *choice_of_number(Field *f, const struct param *p, double v) {
  for (const struct choice *c = p->choices; c && c->name; c++) {
    double wanted = c->number;
    const char *word = spelling(c);
    if (word && !fixed_value(f, word, word + strlen(word), &wanted)) continue;
    if (wanted == v) return c;
  }
  return NULL;
}

static void get_text(ProtobufCMessage *m, Field *f, const struct param *p, struct value *v) {
  const char *text = *(char **)place(m, f);
  v->text = bytes_of(text ? text : "");
  v->given = v->text.size > 0 || p->flags & REQUIRED;
}

static void get_scalar(ProtobufCMessage *m, Field *f, const struct param *p, struct value *v) {
  if (f->type == PROTOBUF_C_TYPE_STRING) {
    get_text(m, f, p, v);
    return;
  }
  if (!get_number(m, f, &v->number)) return;
  v->boolean = v->number != 0;
  if (v->number >= 0) v->integer = f->type == PROTOBUF_C_TYPE_UINT64 ? *(uint64_t *)place(m, f) : (uint64_t)v->number;
  v->choice = choice_of_number(f, p, v->number);
  v->given = in_oneof(f) || v->number != 0 || p->flags & REQUIRED;
  if (p->choices && !v->choice) v->given = false;
}

static void get_parameter(ProtobufCMessage *base, const struct param *param, struct value *v) {
  struct path p = whole_path(param->field);
  Field *f = NULL;
  ProtobufCMessage *m = at_base(&p) ? base : holder(base, p, &f, NULL);
  if (f && is_message(f)) m = m ? child(m, f) : NULL;
  if (!f || is_message(f)) {
    v->choice = m ? choice_below(m, param) : NULL;
    v->boolean = m != NULL;
    v->given = param->choices ? v->choice != NULL : v->boolean || param->flags & REQUIRED;
  } else if (m) {
    get_scalar(m, f, param, v);
  }
}

/* The base of the row in this message; NULL when some fixed item does not hold. */
static ProtobufCMessage *find_base(ProtobufCMessage *root, const char *items) {
  ProtobufCMessage *base = root;
  while (*items) {
    const char *end = strchr(items, ';'), *stop = end ? end : items + strlen(items);
    struct path p = path_of(items, stop);
    ProtobufCMessage *m = find_item(base, p);
    if (!m) return NULL;
    if (base == root && !p.value) base = m;
    items = end ? end + 1 + strspn(end + 1, " ") : stop;
  }
  return base;
}

static void each_child(ProtobufCMessage *m, void (*visit)(ProtobufCMessage *)) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    Field *f = &m->descriptor->fields[i];
    if (!is_message(f)) continue;
    if (is_repeated(f))
      for (size_t k = 0; k < *counter(m, f); k++) visit((*(ProtobufCMessage ***)place(m, f))[k]);
    else if (child(m, f)) visit(child(m, f));
  }
}

/* Newer senders may add members; what we do not know is ignored (wire protocol section 2). */
static void forget_unknown(ProtobufCMessage *m) {
  m->n_unknown_fields = 0;
  each_child(m, forget_unknown);
}

static bool read_row(const struct row *row, ProtobufCMessage *root, struct value *values) {
  ProtobufCMessage *base = find_base(root, row->message);
  if (!base) return false;
  memset(values, 0, DECODE_MAX * sizeof *values);
  for (size_t i = 0; i < DECODE_MAX && row->params && row->params[i].name; i++)
    if (row->params[i].field) get_parameter(base, &row->params[i], &values[i]);
  return true;
}

/* Several rows share an action; the right one is the one whose own message these bytes are. */
static bool says_the_same(const struct row *row, const struct value *values, struct bytes canonical) {
  struct buf own = BUF_INIT;
  bool same = codec_encode(row, values, 0, &own, NULL) && bytes_equal(buf_bytes(&own), canonical);
  buf_free(&own);
  return same;
}

static const struct row *match_row(enum domain domain, ProtobufCMessage *root, struct value *values) {
  struct buf canonical = BUF_INIT;
  const struct row *found = NULL;
  forget_unknown(root);
  if (pack(root, &canonical))
    for (const struct row *r = command_rows; r->name && !found; r++)
      if (r->message && r->domain == domain && read_row(r, root, values) && says_the_same(r, values, buf_bytes(&canonical)))
        found = r;
  buf_free(&canonical);
  return found;
}

const struct row *codec_decode(enum domain domain, struct bytes payload, struct arena *a, struct value values[DECODE_MAX],
                               struct err *e) {
  ProtobufCMessage *root = unpack(type_of(domain), payload, a);
  if (!root) return err_set(e, KIND_protocol, "the bytes are not a command of this domain"), NULL;
  const struct row *row = match_row(domain, root, values);
  if (!row) err_set(e, KIND_unsupported, "the bytes are no command that this version knows");
  return row;
}

/* The set member of the first oneof. */
static Field *set_member(ProtobufCMessage *m) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    Field *f = &m->descriptor->fields[i];
    if (in_oneof(f) && *chosen(m, f) == f->id) return f;
  }
  return NULL;
}

bool codec_action(enum domain domain, struct bytes payload, struct arena *a, const char **action) {
  ProtobufCMessage *m = unpack(type_of(domain), payload, a);
  *action = NULL;
  if (!m) return false;
  Field *f = set_member(m);
  if (f && domain == DOMAIN_INFOTAINMENT) f = child(m, f) ? set_member(child(m, f)) : NULL;
  if (f) *action = f->name;
  return true;
}
