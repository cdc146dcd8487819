#include "signing/wire/codec.h"

#include "signing/wire/protobuf_fields.h"
#include "signing/wire/proto/car_server.pb-c.h"
#include "signing/wire/proto/vcsec.pb-c.h"

#include <math.h>
#include <string.h>

static Type *type_of(enum domain domain) {
  return domain == DOMAIN_VCSEC ? &fleet__vcsec__unsigned_message__descriptor
                                : &fleet__car_server__action__descriptor;
}

const struct row *command_row(const char *name) {
  for (const struct row *r = command_rows; r->name; r++)
    if (strcmp(r->name, name) == 0) return r;
  return NULL;
}

/* One item of the notation: a message that is present, or a member with its value. */
static ProtobufCMessage *put_item(ProtobufCMessage *m, struct path p, struct arena *a) {
  Field *f;
  double v;
  ProtobufCMessage *in = path_holder(m, p, &f, a);
  if (!in) return NULL;
  if (!p.value) return field_is_message(f) ? field_enter(in, f, a) : NULL;
  return field_fixed_value(f, p.value, p.value_end, &v) && field_put_number(field_place(in, f), f, v) &&
                 field_mark(in, f)
             ? in
             : NULL;
}

/* ---- parameters ---- */

static const char *spelling(const struct choice *c) {
  return c->field ? c->field : c->text;
}

static bool put_choice(ProtobufCMessage *m, Field *f, const struct choice *c, struct arena *a) {
  double v = c->number;
  const char *word = spelling(c);
  if (f->type == PROTOBUF_C_TYPE_STRING) return word && field_put_text(m, f, bytes_of(word), a);
  if (word && !field_fixed_value(f, word, word + strlen(word), &v)) return false;
  return field_put_number(field_place(m, f), f, v) && field_mark(m, f);
}

static bool put_integer(ProtobufCMessage *m, Field *f, uint64_t v) {
  if (f->type == PROTOBUF_C_TYPE_UINT64)
    *(uint64_t *)field_place(m, f) = v;
  else if (!field_put_number(field_place(m, f), f, (double)v))
    return false;
  return field_mark(m, f);
}

static bool put_scalar(ProtobufCMessage *m, Field *f, const struct param *p, const struct value *v,
                       struct arena *a) {
  if (v->choice) return put_choice(m, f, v->choice, a);
  if (p->type == TYPE_STRING || p->type == TYPE_OBJECT) return field_put_text(m, f, v->text, a);
  if (p->type == TYPE_PUBLIC_KEY) return field_put_bytes(m, f, v->text, a);
  if (p->type == TYPE_ID || p->type == TYPE_DAYS) return put_integer(m, f, v->integer);
  return field_put_number(field_place(m, f), f, p->type == TYPE_BOOLEAN ? v->boolean : v->number) &&
         field_mark(m, f);
}

/* A boolean that makes a message present writes nothing when it is false. */
static bool is_silent(ProtobufCMessage *base, struct path p, const struct param *param,
                      const struct value *v) {
  if (param->type != TYPE_BOOLEAN || v->boolean) return false;
  Field *f = path_is_base(&p) ? NULL : path_leaf(base->descriptor, p);
  return path_is_base(&p) || (f && field_is_message(f));
}

static bool put_parameter(ProtobufCMessage *base, const struct param *param, const struct value *v,
                          struct arena *a) {
  struct path p = path_whole(param->field);
  Field *f = NULL;
  if (is_silent(base, p, param, v)) return true;
  ProtobufCMessage *m = path_is_base(&p) ? base : path_holder(base, p, &f, a);
  if (!m) return false;
  if (f && !field_is_message(f)) return put_scalar(m, f, param, v, a);
  if (f) m = field_enter(m, f, a);
  if (!m || param->type == TYPE_BOOLEAN) return m != NULL;
  return v->choice && put_item(m, path_whole(v->choice->field), a);
}

/* The signed message has no field for some values of the plain form. */
static bool has_place(const struct row *row, const struct param *p, const struct value *v, struct err *e) {
  if (p->signed_max > 0 && v->given && v->number > p->signed_max)
    return err_set(e, KIND_invalid, "%s: '%s' must be %.14g to %.14g in signed form", row->name, p->name,
                   p->min, p->signed_max);
  if (p->word && v->text.data)
    return err_set(e, KIND_unsupported, "%s: %s = '%s' has no signed form", row->name, p->name, p->word);
  if (p->member && !v->given)
    return err_set(e, KIND_unsupported, "%s: the signed form carries %s of '%s', which is not there",
                   row->name, p->member, p->name);
  if (v->choice && p->field[0] == '.' && !v->choice->field)
    return err_set(e, KIND_unsupported, "%s: %s = '%s' has no signed form", row->name, p->name,
                   v->choice->name);
  return true;
}

static bool put_value(ProtobufCMessage *base, const struct row *row, const struct param *p,
                      const struct value *v, struct arena *a, struct err *e) {
  if (!has_place(row, p, v, e)) return false;
  return !v->given || put_parameter(base, p, v, a) ||
         err_set(e, KIND_invalid, "%s: %s does not fit into the vehicle's message", row->name, p->name);
}

static bool put_parameters(ProtobufCMessage *base, const struct row *row, const struct value *values,
                           uint64_t fresh_id, struct arena *a, struct err *e) {
  for (int pass = 0; pass < 2; pass++) /* first the switch: when it is off, the others are left out */
    for (size_t i = 0; row->params && row->params[i].name; i++) {
      const struct param *p = &row->params[i];
      struct value v = values[i];
      bool is_switch = p->flags & SWITCH;
      if (!p->field || is_switch != (pass == 0)) continue;
      if (!v.given && p->flags & FRESH_ID) v.given = true, v.integer = fresh_id;
      if (!put_value(base, row, p, &v, a, e)) return false;
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

static ProtobufCMessage *build(const struct row *row, const struct value *values, uint64_t fresh_id,
                               struct arena *a, struct err *e) {
  ProtobufCMessage *root = message_new(type_of(row->domain), a), *base;
  if (!root) return err_out_of_memory(e), NULL;
  if (!put_items(root, row->message, &base, a))
    return err_set(e, KIND_invalid, "%s has no usable message", row->name), NULL;
  return put_parameters(base, row, values, fresh_id, a, e) ? root : NULL;
}

enum { COMMAND_LIMIT = 1 << 16 };

bool codec_encode(const struct row *row, const struct value *values, uint64_t fresh_id, struct buf *out,
                  struct err *e) {
  struct arena a;
  if (!row->message) return err_set(e, KIND_unsupported, "%s has no signed form", row->name);
  arena_start(&a, COMMAND_LIMIT);
  ProtobufCMessage *root = build(row, values, fresh_id, &a, e);
  bool ok = root && (message_pack(root, out) || err_out_of_memory(e));
  arena_end(&a);
  return ok;
}

/* ---- decoding ----
 *
 * Messages of other programs differ from ours: they leave out members that we always send, add members that
 * we never send, and have lists of several elements where we send one.
 */

/* Of a relative change only the sign counts, because the vehicle takes one step. */
static bool same_value(Field *f, double v, double wanted) {
  if (f->type == PROTOBUF_C_TYPE_SINT32) return v * wanted > 0;
  return v == wanted;
}

static ProtobufCMessage *find_item(ProtobufCMessage *m, struct path p) {
  Field *f;
  double v, wanted;
  ProtobufCMessage *in = path_holder(m, p, &f, NULL);
  if (!in) return NULL;
  if (!p.value) return field_is_message(f) ? field_child(in, f) : NULL;
  return field_fixed_value(f, p.value, p.value_end, &wanted) && field_number(in, f, &v) &&
                 same_value(f, v, wanted)
             ? in
             : NULL;
}

static const struct choice *choice_below(ProtobufCMessage *m, const struct param *p) {
  for (const struct choice *c = p->choices; c && c->name; c++)
    if (c->field && find_item(m, path_whole(c->field))) return c;
  return NULL;
}

static const struct choice *choice_of_number(Field *f, const struct param *p, double v) {
  for (const struct choice *c = p->choices; c && c->name; c++) {
    double wanted = c->number;
    const char *word = spelling(c);
    if (word && !field_fixed_value(f, word, word + strlen(word), &wanted)) continue;
    if (wanted == v) return c;
  }
  return NULL;
}

static void get_text(ProtobufCMessage *m, Field *f, const struct param *p, struct value *v) {
  const char *text = *(char **)field_place(m, f);
  v->text = bytes_of(text ? text : "");
  v->given = v->text.size > 0 || p->flags & REQUIRED;
}

static void get_scalar(ProtobufCMessage *m, Field *f, const struct param *p, struct value *v) {
  if (f->type == PROTOBUF_C_TYPE_STRING) {
    get_text(m, f, p, v);
    return;
  }
  if (f->type == PROTOBUF_C_TYPE_BYTES) {
    const ProtobufCBinaryData *b = field_place(m, f);
    v->text = (struct bytes){b->data, b->len};
    v->given = b->len > 0;
    return;
  }
  if (!field_number(m, f, &v->number) || !isfinite(v->number)) return;
  v->boolean = v->number != 0;
  if (v->number >= 0 && v->number < 9.2e18)
    v->integer = f->type == PROTOBUF_C_TYPE_UINT64 ? *(uint64_t *)field_place(m, f) : (uint64_t)v->number;
  v->choice = choice_of_number(f, p, v->number);
  v->given = field_in_oneof(f) || v->number != 0 || p->flags & REQUIRED;
  if (p->choices && !v->choice) v->given = false;
}

static void get_parameter(ProtobufCMessage *base, const struct param *param, struct value *v) {
  struct path p = path_whole(param->field);
  Field *f = NULL;
  ProtobufCMessage *m = path_is_base(&p) ? base : path_holder(base, p, &f, NULL);
  if (f && field_is_message(f)) m = m ? field_child(m, f) : NULL;
  if (!f || field_is_message(f)) {
    v->choice = m ? choice_below(m, param) : NULL;
    v->boolean = m != NULL;
    bool is_default = param->flags & REQUIRED && param->type != TYPE_PUBLIC_KEY; /* no bytes are no key */
    v->given = param->choices ? v->choice != NULL : v->boolean || is_default;
  } else if (m) {
    get_scalar(m, f, param, v);
  }
}

/* A message beside the base may be left out, such as the level of a temperature. A member of a oneof may
 * not. */
static bool is_optional(ProtobufCMessage *base, struct path p) {
  Field *f = path_first(base->descriptor, p);
  return f && !p.value && !field_in_oneof(f);
}

/* The base of the row in this message; NULL when some fixed item does not hold. *items counts those that
 * do. */
static ProtobufCMessage *find_base(ProtobufCMessage *root, const char *items, unsigned *holding) {
  ProtobufCMessage *base = root;
  while (*items) {
    const char *end = strchr(items, ';'), *stop = end ? end : items + strlen(items);
    struct path p = path_of(items, stop);
    ProtobufCMessage *m = find_item(base, p);
    if (!m && (base == root || !is_optional(base, p))) return NULL;
    *holding += m != NULL;
    if (base == root && !p.value) base = m;
    items = end ? end + 1 + strspn(end + 1, " ") : stop;
  }
  return base;
}

/* How much of the message the row explains; 0 when it is not the row's message. */
static unsigned read_row(const struct row *row, ProtobufCMessage *root, struct value *values) {
  unsigned explained = 0;
  memset(values, 0, DECODE_MAX * sizeof *values);
  ProtobufCMessage *base = find_base(root, row->message, &explained);
  if (!base) return 0;
  for (size_t i = 0; i < DECODE_MAX && row->params && row->params[i].name; i++) {
    const struct param *p = &row->params[i];
    if (!p->field) continue;
    get_parameter(base, p, &values[i]);
    if (p->flags & REQUIRED && !values[i].given) return 0;
    explained += values[i].given;
  }
  return explained;
}

/* The name of the member that holds the action; NULL when it is unknown. */
static const char *action_of(enum domain domain, ProtobufCMessage *m) {
  Field *f = message_set_member(m);
  if (f && domain == DOMAIN_INFOTAINMENT)
    f = field_child(m, f) ? message_set_member(field_child(m, f)) : NULL;
  return f ? f->name : NULL;
}

/* The path of a row begins with its action; in infotainment one common member comes first. */
static bool is_row_of(const struct row *row, enum domain domain, const char *action) {
  const char *name = row->message;
  if (!name || row->domain != domain) return false;
  if (domain == DOMAIN_INFOTAINMENT) name += strcspn(name, ".") + 1;
  size_t length = strlen(action);
  return strncmp(name, action, length) == 0 && strcspn(name, ".=;[") == length;
}

/* Several rows can have the same action: the row that explains most of the message matches. */
static const struct row *match_row(enum domain domain, ProtobufCMessage *root, struct value *values) {
  const struct row *found = NULL;
  const char *action = action_of(domain, root);
  unsigned most = 0;
  for (const struct row *r = command_rows; action && r->name; r++) {
    if (!is_row_of(r, domain, action)) continue;
    unsigned explained = read_row(r, root, values);
    if (explained > most) most = explained, found = r;
  }
  if (found) read_row(found, root, values);
  return found;
}

/* The list in this message that has more than one element, and the message that holds it. */
static ProtobufCMessage *find_list(ProtobufCMessage *m, Field **list) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    Field *f = &m->descriptor->fields[i];
    if (!field_is_message(f)) continue;
    if (field_is_repeated(f) && *field_count(m, f) > 1) return *list = f, m;
    ProtobufCMessage *below = field_child(m, f), *found = below ? find_list(below, list) : NULL;
    if (found) return found;
  }
  return NULL;
}

enum { MOST_SEATS = 16 };

/* Leaves the element at this place alone in its list; false when there are not so many. */
static bool single_out(ProtobufCMessage *root, size_t at) {
  Field *f;
  ProtobufCMessage *m = find_list(root, &f);
  if (!m) return at == 0;
  if (*field_count(m, f) > MOST_SEATS || at >= *field_count(m, f)) return false;
  *(ProtobufCMessage ***)field_place(m, f) += at;
  *field_count(m, f) = 1;
  return true;
}

const struct row *codec_decode(enum domain domain, struct bytes payload, size_t at, struct arena *a,
                               struct value values[DECODE_MAX], struct err *e) {
  ProtobufCMessage *root = message_unpack(type_of(domain), payload, a);
  if (!root) return err_set(e, KIND_protocol, "the bytes are not a command of this domain"), NULL;
  const struct row *row = single_out(root, at) ? match_row(domain, root, values) : NULL;
  if (!row) err_set(e, KIND_unsupported, "the bytes are no command that this version knows");
  return row;
}

bool codec_action(enum domain domain, struct bytes payload, struct arena *a, const char **action) {
  ProtobufCMessage *m = message_unpack(type_of(domain), payload, a);
  *action = m ? action_of(domain, m) : NULL;
  return m != NULL;
}

const char *codec_version(void) {
  return protobuf_c_version();
}
