#include "base/value.h"

#include <math.h>
#include <string.h>

/* ---- making ---- */

struct node *node_new(struct arena *a, enum node_type type) {
  struct node *value = arena_take(a, sizeof *value);
  if (value) value->type = type;
  return value;
}

struct node *node_text(struct arena *a, struct bytes text) {
  struct node *value = node_new(a, NODE_TEXT);
  if (value) value->text = text;
  return value;
}

struct node *node_number(struct arena *a, double number) {
  bool whole = number == floor(number) && fabs(number) < 9007199254740992.0;
  struct node *value = node_new(a, whole ? NODE_INTEGER : NODE_NUMBER);
  if (value && whole)
    value->integer = (int64_t)number;
  else if (value)
    value->number = number;
  return value;
}

static struct bytes copy_text(struct arena *a, struct bytes text) {
  unsigned char *own = text.data ? arena_take(a, text.size) : NULL;
  if (!own) return (struct bytes){NULL, 0};
  if (text.size) memcpy(own, text.data, text.size);
  return (struct bytes){own, text.size};
}

struct node *node_copy(struct arena *a, const struct node *value) {
  struct node *copy = value ? node_new(a, value->type) : NULL;
  if (!copy) return NULL;
  *copy = *value;
  copy->name = copy_text(a, value->name);
  copy->text = copy_text(a, value->text);
  copy->next = NULL;
  if (value->type != NODE_LIST && value->type != NODE_OBJECT) return copy;
  copy->first = copy->last = NULL;
  for (const struct node *part = value->first; part; part = part->next) node_add(copy, node_copy(a, part));
  return copy;
}

void node_add(struct node *object, struct node *value) {
  if (!object || !value) return;
  if (object->last)
    object->last->next = value;
  else
    object->first = value;
  object->last = value;
}

void node_append(struct node *list, struct node *value) {
  if (!list || !value) return;
  value->key = KEY_INDEX;
  value->index = list->last ? list->last->index + 1 : 1;
  node_add(list, value);
}

void node_set(struct node *object, const char *name, struct node *value) {
  if (!object || !value) return;
  value->key = KEY_NAME;
  value->name = bytes_of(name);
  node_add(object, value);
}

/* ---- order ---- */

static int compare_keys(const struct node *a, const struct node *b) {
  if (a->key != b->key) return (int)a->key - (int)b->key;
  if (a->key == KEY_INDEX) return (a->index > b->index) - (a->index < b->index);
  size_t shorter = a->name.size < b->name.size ? a->name.size : b->name.size;
  int order = shorter ? memcmp(a->name.data, b->name.data, shorter) : 0;
  return order ? order : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

/* Of equal keys the one of a comes first. */
static struct node *merge(struct node *a, struct node *b) {
  struct node *first = NULL, **end = &first;
  while (a && b) {
    struct node **from = compare_keys(a, b) <= 0 ? &a : &b;
    *end = *from;
    *from = (*from)->next;
    end = &(*end)->next;
  }
  *end = a ? a : b;
  return first;
}

static struct node *sorted(struct node *list, size_t count) {
  if (count < 2) return list;
  struct node *half = list;
  for (size_t i = 1; i < count / 2; i++) half = half->next;
  struct node *rest = half->next;
  half->next = NULL;
  return merge(sorted(list, count / 2), sorted(rest, count - count / 2));
}

void node_sort(struct node *object) {
  size_t count = 0;
  bool in_order = true;
  if (!object) return;
  for (struct node *part = object->first; part; part = part->next, count++)
    in_order &= !part->next || compare_keys(part, part->next) < 0;
  if (in_order) return;
  struct node **at = &object->first;
  *at = sorted(*at, count);
  while (*at) {
    object->last = *at;
    if ((*at)->next && compare_keys(*at, (*at)->next) == 0)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  }
}

/* ---- asking ---- */

bool node_is(const struct node *value, enum node_type type) {
  return value && value->type == type;
}

const struct node *node_member(const struct node *object, const char *name) {
  size_t size = strlen(name);
  if (!node_is(object, NODE_OBJECT)) return NULL;
  for (const struct node *part = object->first; part; part = part->next)
    if (part->key == KEY_NAME && part->name.size == size && memcmp(part->name.data, name, size) == 0)
      return part->type == NODE_NIL ? NULL : part;
  return NULL;
}

bool node_as_number(const struct node *value, double *number) {
  if (node_is(value, NODE_INTEGER)) return *number = (double)value->integer, true;
  if (node_is(value, NODE_NUMBER)) return *number = value->number, true;
  return false;
}

bool node_as_whole(const struct node *value, int64_t *integer) {
  if (node_is(value, NODE_INTEGER)) return *integer = value->integer, true;
  if (!node_is(value, NODE_NUMBER)) return false;
  double number = value->number;
  if (!(number >= -0x1p63 && number < 0x1p63) || number != floor(number)) return false;
  return *integer = (int64_t)number, true;
}
