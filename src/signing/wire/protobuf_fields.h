/* Reads and writes members of protobuf messages by name, through the descriptors that protobuf-c generates.
 *
 * A path is "a.b.c", through messages and through the only element of a repeated member, or "a.b[2].c"
 * through one of several elements.
 */
#ifndef FLEET_SIGNING_PROTOBUF_FIELDS_H
#define FLEET_SIGNING_PROTOBUF_FIELDS_H

#include "base/buf.h"
#include "base/arena.h"

#include <protobuf-c/protobuf-c.h>

typedef const ProtobufCFieldDescriptor Field;
typedef const ProtobufCMessageDescriptor Type;

static inline ProtobufCAllocator allocator_of(struct arena *a) {
  return (ProtobufCAllocator){arena_allocate, arena_keep, a};
}

ProtobufCMessage *message_new(Type *type, struct arena *a); /* NULL: beyond the arena's limit */
/* NULL: not of this type, a number that does not fit into its member, or beyond the arena's limit. */
ProtobufCMessage *message_unpack(Type *type, struct bytes in, struct arena *a);
bool message_pack(ProtobufCMessage *m, struct buf *out); /* members ascending */
Field *message_set_member(ProtobufCMessage *m); /* the first member of a oneof that is set, or NULL */

static inline bool field_is_message(Field *f) {
  return f->type == PROTOBUF_C_TYPE_MESSAGE;
}

static inline bool field_is_repeated(Field *f) {
  return f->label == PROTOBUF_C_LABEL_REPEATED;
}

static inline bool field_in_oneof(Field *f) {
  return f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static inline void *field_place(ProtobufCMessage *m, Field *f) {
  return (char *)m + f->offset;
}

/* How many elements a repeated member has. */
static inline size_t *field_count(ProtobufCMessage *m, Field *f) {
  return (size_t *)(void *)((char *)m + f->quantifier_offset);
}

/* Of a oneof: the number of the member that is set. */
static inline uint32_t *field_chosen(ProtobufCMessage *m, Field *f) {
  return (uint32_t *)(void *)((char *)m + f->quantifier_offset);
}

size_t field_size(Field *f); /* of one value or element */

/* Outside a oneof a scalar that is zero was not sent. */
bool field_is_set(ProtobufCMessage *m, Field *f); /* of one outside a oneof */
static inline bool field_is_there(ProtobufCMessage *m, Field *f) {
  return field_in_oneof(f) ? *field_chosen(m, f) == f->id : field_is_set(m, f);
}

/* The message in a member, or in its only element; NULL when there is none. field_enter makes it then. */
ProtobufCMessage *field_child(ProtobufCMessage *m, Field *f);
ProtobufCMessage *field_enter(ProtobufCMessage *m, Field *f, struct arena *a);

bool field_put_number(void *at, Field *f, double v); /* false: does not fit into the member's type */
bool field_put_text(ProtobufCMessage *m, Field *f, struct bytes text, struct arena *a);
bool field_put_bytes(ProtobufCMessage *m, Field *f, struct bytes value, struct arena *a);
bool field_mark(ProtobufCMessage *m, Field *f); /* marks a member of a oneof as set; true */
bool field_number(ProtobufCMessage *m, Field *f,
                  double *out); /* false: no number, or a oneof that says something else */
/* The text of a value as a number: true, digits, or the name of an enum value of this member. */
bool field_fixed_value(Field *f, const char *text, const char *end, double *out);

struct path { /* "a.b.c" or "a.b.c=VALUE", cut into words while walking */
  const char *at, *end, *value, *value_end;
  size_t element; /* of the word that was read last: [n], else 0 */
};
struct path path_of(const char *text, const char *end);
struct path path_whole(const char *text);
bool path_is_base(const struct path *p);      /* "." */
Field *path_first(Type *type, struct path p); /* what its first word names */
Field *path_leaf(Type *type,
                 struct path p); /* what the path names in the end; NULL when some word is no member */
/* The message that holds the leaf, made on the way when a is given, else NULL when some part is absent.
 * Elements before a named one are made too, empty. */
ProtobufCMessage *path_holder(ProtobufCMessage *m, struct path p, Field **f, struct arena *a);

#endif
