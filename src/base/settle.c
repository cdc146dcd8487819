#include "base/settle.h"

#include <ctype.h>
#include <string.h>

bool settle_cut(struct bytes *rest, const char *separator, struct bytes *piece) {
  if (!rest->size) return false;
  size_t size = strlen(separator);
  const unsigned char *at = memmem(rest->data, rest->size, separator, size);
  *piece = *rest;
  if (!at) return rest->size = 0, true;
  piece->size = (size_t)(at - rest->data);
  rest->data += piece->size + size;
  rest->size -= piece->size + size;
  return true;
}

static enum settle_op op_of(struct bytes op) {
  if (bytes_equal(op, bytes_of("~"))) return SETTLE_NUMBER;
  return bytes_equal(op, bytes_of("same")) ? SETTLE_TARIFF : SETTLE_TEXT;
}

bool settle_next(struct bytes *column, struct settle_part *out) {
  struct bytes part, expected, op;
  if (!settle_cut(column, "; ", &part) || !settle_cut(&part, " when ", &expected)) return false;
  out->when = part;
  if (!settle_cut(&expected, " ", &out->path) || !settle_cut(&expected, " ", &op)) return false;
  out->op = op_of(op), out->value = expected;
  return true;
}

bool settle_parameter(struct bytes *text, struct bytes *name) {
  struct bytes before;
  if (!settle_cut(text, "$", &before)) return false;
  if (!text->size) return false;
  *name = (struct bytes){text->data, 0};
  while (name->size < text->size && (isalnum(text->data[name->size]) || text->data[name->size] == '_'))
    name->size++;
  return true;
}

bool settle_condition(struct bytes *when, struct bytes *name, struct bytes *value) {
  struct bytes one;
  if (!settle_cut(when, " ", &one) || !settle_cut(&one, "=", name) || name->size < 2) return false;
  *name = (struct bytes){name->data + 1, name->size - 1}; /* behind its $ */
  *value = one;
  return true;
}
