/* The values of a decoded command as the plain request has them, so that one reader serves both forms. */
#include "call/arguments.h"

#include <string.h>

/* Copies the buffer's text into the arena, and frees the buffer. */
static struct node *take_text(struct arena *a, struct buf *text) {
  void *own = buf_ok(text) ? arena_take(a, text->size) : NULL;
  if (own && text->size) memcpy(own, text->data, text->size);
  struct node *node = own ? node_text(a, (struct bytes){own, text->size}) : NULL;
  buf_free(text);
  return node;
}

static struct node *number_of(struct arena *a, double value) {
  struct node *node = node_new(a, NODE_NUMBER);
  if (node) node->number = value;
  return node;
}

static struct node *integer_of(struct arena *a, int64_t value) {
  struct node *node = node_new(a, NODE_INTEGER);
  if (node) node->integer = value;
  return node;
}

static struct node *plain_node(struct arena *a, const struct param *q, const struct value *v) {
  struct buf text = BUF_INIT;
  struct node *node;
  if (v->choice && v->choice->text) return node_text(a, bytes_of(v->choice->text));
  if (v->choice) return integer_of(a, (int64_t)v->choice->number);
  switch (q->type) {
  case TYPE_BOOLEAN:
    node = node_new(a, NODE_BOOLEAN);
    if (node) node->boolean = v->boolean;
    return node;
  case TYPE_OBJECT:
    node = node_new(a, NODE_OBJECT);
    node_set(node, q->member, node_text(a, v->text));
    return node;
  case TYPE_PUBLIC_KEY:
    buf_hex(&text, v->text);
    return take_text(a, &text);
  case TYPE_DAYS:
    days_text(&text, (unsigned)v->integer);
    return take_text(a, &text);
  case TYPE_STRING:
    return node_text(a, v->text);
  case TYPE_INTEGER:
    return integer_of(a, (int64_t)v->number);
  default:
    if (q->type == TYPE_ID && v->integer <= INT64_MAX) return integer_of(a, (int64_t)v->integer);
    return number_of(a, v->number);
  }
}

struct node *plain_params(struct arena *a, const struct row *row, const struct value *values) {
  struct node *params = node_new(a, NODE_OBJECT);
  for (size_t i = 0; i < DECODE_MAX && row->params && row->params[i].name; i++)
    if (values[i].given) node_set(params, row->params[i].name, plain_node(a, &row->params[i], &values[i]));
  return params;
}
