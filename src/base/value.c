#include "base/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

struct node *node_new(struct arena *a, enum node_type type) {
  struct node *value = arena_take(a, sizeof *value);
  if (value) value->type = type;
  return value;
}

struct node *node_boolean(struct arena *a, bool boolean) {
  struct node *value = node_new(a, NODE_BOOLEAN);
  if (value) value->boolean = boolean;
  return value;
}

struct node *node_integer(struct arena *a, int64_t integer) {
  struct node *value = node_new(a, NODE_INTEGER);
  if (value) value->integer = integer;
  return value;
}

struct node *node_real(struct arena *a, double number) {
  struct node *value = node_new(a, NODE_NUMBER);
  if (value) value->number = number;
  return value;
}

struct node *node_number(struct arena *a, double number) {
  bool whole = number == floor(number) && fabs(number) < 9007199254740992.0;
  return whole ? node_integer(a, (int64_t)number) : node_real(a, number);
}

struct node *node_text(struct arena *a, struct bytes text) {
  struct node *value = node_new(a, NODE_TEXT);
  if (value) value->text = text;
  return value;
}

static struct bytes copy_text(struct arena *a, struct bytes text) {
  unsigned char *own = text.data ? arena_take(a, text.size + 1) : NULL;
  if (!own) return (struct bytes){NULL, 0};
  if (text.size) memcpy(own, text.data, text.size);
  return (struct bytes){own, text.size};
}

struct node *node_text_copy(struct arena *a, struct bytes text) {
  return node_text(a, copy_text(a, text.data ? text : bytes_of("")));
}

struct node *node_format(struct arena *a, const char *format, ...) {
  va_list list;
  struct node *value = NULL;
  char *text = NULL;
  va_start(list, format);
  int size = vasprintf(&text, format, list);
  va_end(list);
  if (size < 0)
    a->failed = true;
  else
    value = node_text_copy(a, (struct bytes){(const unsigned char *)text, (size_t)size});
  if (size >= 0) free(text);
  return value;
}

struct node *node_key(struct arena *a, const struct node *value) {
  if (value->key == KEY_INDEX) return node_format(a, "%lld", (long long)value->index);
  return node_text_copy(a, value->name);
}

const char *node_type_name(const struct node *value) {
  static const char *const names[] = {
      [NODE_NIL] = "userdata",  [NODE_BOOLEAN] = "boolean", [NODE_INTEGER] = "number",
      [NODE_NUMBER] = "number", [NODE_TEXT] = "string",     [NODE_LIST] = "table",
      [NODE_OBJECT] = "table"};
  static const char *const others[] = {"function", "userdata", "thread"};
  if (!value) return "nil";
  if (value->type != NODE_OTHER) return names[value->type];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (bytes_equal(value->text, bytes_of(others[i]))) return others[i];
  return "table"; /* nested too deeply */
}

struct node *node_written(struct arena *a, const struct node *value) {
  if (node_is(value, NODE_TEXT)) return node_text_copy(a, value->text);
  if (node_is(value, NODE_INTEGER)) return node_format(a, "%lld", (long long)value->integer);
  if (node_is(value, NODE_BOOLEAN)) return node_format(a, "%s", value->boolean ? "true" : "false");
  if (node_is(value, NODE_NUMBER)) {
    bool whole = value->number == floor(value->number) && fabs(value->number) < 1e14;
    return node_format(a, whole ? "%.1f" : "%.14g", value->number);
  }
  return node_format(a, "%s", node_type_name(value));
}

struct node *node_copy(struct arena *a, const struct node *value) {
  struct node *copy = value ? node_new(a, value->type) : NULL;
  if (!copy) return NULL;
  *copy = *value;
  copy->name = copy_text(a, value->name);
  copy->text = copy_text(a, value->text);
  if (!node_is_table(value)) return copy;
  copy->first = copy->last = NULL;
  for (const struct node *part = value->first; part; part = part->next) node_add(copy, node_copy(a, part));
  return copy;
}

void node_add(struct node *object, struct node *value) {
  if (!object || !value) return;
  value->next = NULL;
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

static bool is_called(const struct node *part, struct bytes name) {
  return part->key == KEY_NAME && part->name.size == name.size &&
         (!name.size || memcmp(part->name.data, name.data, name.size) == 0);
}

void node_put(struct node *object, const char *name, struct node *value) {
  struct node **at = &object->first;
  while (*at && !is_called(*at, bytes_of(name))) at = &(*at)->next;
  if (!*at || !value) {
    node_set(object, name, value);
    return;
  }
  value->key = KEY_NAME;
  value->name = bytes_of(name);
  value->next = (*at)->next;
  if (object->last == *at) object->last = value;
  *at = value;
}

/* ---- order ---- */

static int compare_keys(const struct node *a, const struct node *b) {
  if (a->key != b->key) return (int)a->key - (int)b->key;
  if (a->key == KEY_INDEX) return (a->index > b->index) - (a->index < b->index);
  size_t shorter = a->name.size < b->name.size ? a->name.size : b->name.size;
  int order = shorter ? memcmp(a->name.data, b->name.data, shorter) : 0;
  return order ? order : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

/* For equal keys the member of a comes first. */
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

/* ---- reading ---- */

bool node_is(const struct node *value, enum node_type type) {
  return value && value->type == type;
}

bool node_is_table(const struct node *value) {
  return node_is(value, NODE_LIST) || node_is(value, NODE_OBJECT);
}

static struct node *find(const struct node *object, struct bytes name) {
  struct node *part = node_is(object, NODE_OBJECT) ? object->first : NULL;
  while (part && !is_called(part, name)) part = part->next;
  return part;
}

struct node *node_find(const struct node *object, const char *name) {
  return find(object, bytes_of(name));
}

const struct node *node_named(const struct node *object, struct bytes name) {
  const struct node *part = find(object, name);
  return node_is(part, NODE_NIL) ? NULL : part;
}

const struct node *node_member(const struct node *object, const char *name) {
  return node_named(object, bytes_of(name));
}

static bool is_element(const struct node *part, int64_t index) {
  return part && part->key == KEY_INDEX && part->index == index;
}

const struct node *first_element(const struct node *table) {
  const struct node *part = node_is_table(table) ? table->first : NULL;
  while (part && part->key == KEY_INDEX && part->index < 1) part = part->next;
  return is_element(part, 1) ? part : NULL;
}

const struct node *next_element(const struct node *element) {
  return is_element(element->next, element->index + 1) ? element->next : NULL;
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
  if (!(fabs(number) < 0x1p63) || number != floor(number)) return false;
  return *integer = (int64_t)number, true;
}
