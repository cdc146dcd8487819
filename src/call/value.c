#include "call/value.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* ---- kinds ---- */

static const struct {
  unsigned kind;
  const char *name;
} kind_names[] = {{VALUE_OBJECT, "an object"}, {VALUE_LIST, "a list"},   {VALUE_TEXTS, "a list of texts"},
                  {VALUE_TEXT, "a text"},      {VALUE_BASE64, "base64"}, {VALUE_BOOLEAN, "true or false"},
                  {VALUE_NOTHING, "nothing"}};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

static const char *name_of(unsigned kinds) {
  for (int i = 0; i < KINDS; i++)
    if (kinds & kind_names[i].kind) return kind_names[i].name;
  return "a number";
}

static unsigned kinds_of(const struct node *value) {
  static const unsigned kinds[NODE_OTHER + 1] = {[NODE_NIL] = VALUE_NOTHING,
                                                 [NODE_BOOLEAN] = VALUE_BOOLEAN,
                                                 [NODE_TEXT] = VALUE_TEXT | VALUE_BASE64,
                                                 [NODE_LIST] = VALUE_LIST | VALUE_TEXTS,
                                                 [NODE_OBJECT] = VALUE_OBJECT};
  return kinds[value->type];
}

/* An object with a member of the row's identity; of a row without one, with any member. */
static bool is_record(const struct row *row, const struct node *value) {
  const struct node *member = node_is(value, NODE_OBJECT) ? value->first : NULL;
  for (; member; member = member->next) {
    const char *name = (const char *)member->name.data;
    bool counts = !row->identity || word_in(row->identity, name, member->name.size);
    if (counts && member->type != NODE_NIL) return true;
  }
  return false;
}

/* Checks every element of the list; nulls are left out. */
static bool check_elements(const struct row *row, unsigned kinds, struct node *list) {
  struct node *next = list->first;
  list->first = list->last = NULL;
  for (struct node *value = next; value; value = next) {
    next = value->next;
    if (value->type == NODE_NIL) continue;
    if (!(kinds & VALUE_LIST && is_record(row, value)) && !(kinds & VALUE_TEXTS && value->type == NODE_TEXT))
      return false;
    node_append(list, value);
  }
  return true;
}

static bool check_kind(const struct row *row, struct node *value, char what[static 64]) {
  unsigned promised = row_value(row), found = kinds_of(value), both = promised & found;
  if (!both) {
    snprintf(what, 64, "holds %s instead of %s", name_of(found), name_of(promised));
    return false;
  }
  if (both & (VALUE_LIST | VALUE_TEXTS) && !check_elements(row, both, value)) {
    snprintf(what, 64, "holds a list with elements that are no %s", both & VALUE_LIST ? "records" : "texts");
    return false;
  }
  return true;
}

/* ---- the check ---- */

/* The list may be under `response`, under the row's own member, or under both. */
static struct node *take_page(struct arena *a, const struct row *row, struct node *body,
                              char what[static 64]) {
  struct node *response = node_find(body, "response"), *list = response ? response : body;
  struct node *total = node_find(list, "totalResults"), *pagination = node_find(body, "pagination");
  struct node *items = row->items ? node_find(list, row->items) : NULL, *page = node_new(a, NODE_OBJECT);
  double count;
  if (!node_as_number(total, &count)) total = node_find(body, "totalResults");
  if (items && items->type != NODE_NIL) list = items;
  int64_t length = node_is(list, NODE_LIST) && list->last ? list->last->index : 0;
  if (!page || !check_kind(row, list, what)) return NULL;
  node_set(page, "records", list);
  node_set(page, "length", node_integer(a, length));
  if (node_as_number(total, &count)) node_set(page, "total", total);
  if (node_is_table(pagination)) node_set(page, "pagination", pagination);
  return page;
}

static struct node *wrap_bare(struct arena *a, const char *name, struct node *list) {
  struct node *object = node_new(a, NODE_OBJECT);
  node_set(object, name, list);
  return object;
}

struct node *take_value(struct arena *a, const struct row *row, struct node *body, char what[static 64]) {
  if (row->paging != PAGED_NO) return take_page(a, row, body, what);
  struct node *response = node_find(body, "response"), *value = response ? response : body;
  if (!(row->value & VALUE_ANY) && !check_kind(row, value, what)) return NULL;
  if (value->type == NODE_NIL) value = node_new(a, row->bare ? NODE_LIST : NODE_OBJECT);
  return row->bare && node_is(value, NODE_LIST) ? wrap_bare(a, row->bare, value) : value;
}
