/* Values from JSON text, and as JSON text (RFC 8259). */
#include "base/json_cursor.h"
#include "base/text.h"
#include "base/value.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct reader {
  struct json_cursor c;
  struct arena *a;
  const char *expected; /* at c.at, where reading ended */
};

static void *fail(struct reader *r, const char *expected) {
  r->expected = expected;
  return NULL;
}

static struct node *read_value(struct reader *r, int depth);

static struct bytes since(const struct reader *r, const unsigned char *start) {
  return (struct bytes){start, (size_t)(r->c.at - start)};
}

/* What the next string says: a view of the text where it has no escapes. */
static bool read_text(struct reader *r, struct bytes *out) {
  json_skip_space(&r->c);
  const unsigned char *start = r->c.at;
  if (!json_skip_string(&r->c)) return fail(r, "a string");
  struct bytes quoted = since(r, start);
  *out = (struct bytes){quoted.data + 1, quoted.size - 2};
  if (!memchr(out->data, '\\', out->size)) return true;
  struct buf text = BUF_INIT;
  bool good = json_unquote(quoted, &text);
  unsigned char *own = good ? arena_take(r->a, text.size) : NULL;
  if (own) *out = (struct bytes){memcpy(own, buf_text(&text), text.size), text.size};
  r->a->failed |= text.failed;
  buf_free(&text);
  if (!good) r->c.at = start;
  return own || fail(r, "an escape that JSON has");
}

static struct node *read_string(struct reader *r) {
  struct node *value = node_new(r->a, NODE_TEXT);
  return value && read_text(r, &value->text) ? value : NULL;
}

static struct node *read_list(struct reader *r, int depth) {
  struct node *list = node_new(r->a, NODE_LIST);
  r->c.at++;
  if (!list || json_take(&r->c, ']')) return list;
  do {
    struct node *value = read_value(r, depth);
    if (!value) return NULL;
    node_append(list, value);
  } while (json_take(&r->c, ','));
  return json_take(&r->c, ']') ? list : fail(r, "',' or ']'");
}

static struct node *read_object(struct reader *r, int depth) {
  struct node *object = node_new(r->a, NODE_OBJECT);
  r->c.at++;
  if (!object || json_take(&r->c, '}')) return object;
  do {
    struct bytes name;
    if (!read_text(r, &name)) return NULL;
    if (!json_take(&r->c, ':')) return fail(r, "':'");
    struct node *value = read_value(r, depth);
    if (!value) return NULL;
    value->key = KEY_NAME;
    value->name = name;
    node_add(object, value);
  } while (json_take(&r->c, ','));
  node_sort(object);
  return json_take(&r->c, '}') ? object : fail(r, "',' or '}'");
}

static size_t count_digits(const unsigned char **at, const unsigned char *end) {
  const unsigned char *start = *at;
  while (*at < end && **at >= '0' && **at <= '9') ++*at;
  return (size_t)(*at - start);
}

/* Whether the word is a number; whole: one without point and exponent. */
static bool is_number(struct bytes word, bool *whole) {
  const unsigned char *at = word.data, *end = word.data + word.size;
  at += at < end && *at == '-';
  bool zero = at < end && *at == '0';
  size_t digits = count_digits(&at, end);
  if (!digits || (zero && digits > 1)) return false;
  *whole = at == end;
  if (at < end && *at == '.') {
    at++;
    if (!count_digits(&at, end)) return false;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    at += at < end && (*at == '+' || *at == '-');
    if (!count_digits(&at, end)) return false;
  }
  return at == end;
}

static bool fits_integer(struct bytes digits, int64_t *out) {
  bool negative = *digits.data == '-';
  *out = 0;
  for (size_t i = negative; i < digits.size; i++) {
    int digit = digits.data[i] - '0';
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, negative ? -digit : digit, out))
      return false;
  }
  return true;
}

/* strtod takes the point of the locale, which the host may have changed. */
static double double_of(struct arena *a, struct bytes digits) {
  const char *point = localeconv()->decimal_point;
  char *text = arena_take(a, digits.size + strlen(point) + 1), *to = text;
  if (!text) return 0;
  for (size_t i = 0; i < digits.size; i++) {
    if (digits.data[i] == '.')
      to = stpcpy(to, point);
    else
      *to++ = (char)digits.data[i];
  }
  return strtod(text, NULL);
}

static struct node *read_number(struct reader *r, struct bytes word) {
  bool whole;
  struct node *value = node_new(r->a, NODE_NUMBER);
  if (!value || !is_number(word, &whole)) return NULL;
  value->text = word;
  if (whole && fits_integer(word, &value->integer))
    value->type = NODE_INTEGER;
  else
    value->number = double_of(r->a, word);
  return value->type == NODE_INTEGER || isfinite(value->number) ? value : NULL;
}

static struct node *read_word(struct reader *r) {
  const unsigned char *start = r->c.at;
  json_skip_plain(&r->c);
  struct bytes word = since(r, start);
  struct node *value;
  if (bytes_equal(word, bytes_of("null")))
    value = node_new(r->a, NODE_NIL);
  else if (bytes_equal(word, bytes_of("true")) || bytes_equal(word, bytes_of("false")))
    value = node_boolean(r->a, *word.data == 't');
  else
    value = read_number(r, word);
  if (value) return value;
  r->c.at = start;
  return fail(r, "a value");
}

static struct node *read_value(struct reader *r, int depth) {
  json_skip_space(&r->c);
  int first = json_peek(&r->c);
  if (first == '"') return read_string(r);
  if (first != '{' && first != '[') return read_word(r);
  if (depth == JSON_DEPTH) return fail(r, "fewer levels");
  return first == '{' ? read_object(r, depth + 1) : read_list(r, depth + 1);
}

struct node *json_read(struct arena *a, struct bytes text, struct json_fault *fault) {
  struct reader r = {json_cursor_of(text), a, "the end"};
  struct node *value = read_value(&r, 0);
  json_skip_space(&r.c);
  if (value && r.c.at == r.c.end && !a->failed) return value;
  if (fault)
    *fault =
        (struct json_fault){text.size - (size_t)(r.c.end - r.c.at), a->failed ? "less text" : r.expected};
  return NULL;
}

/* ---- writing ---- */

struct writer {
  const char *lists;
  struct buf *out;
  struct json_refusal *refusal;
  struct bytes name; /* of the member being written */
};

static bool write_value(struct writer *w, const struct node *value, bool is_element, int depth);

static bool refuse(struct writer *w, struct bytes what) {
  *w->refusal = (struct json_refusal){what, w->name};
  return false;
}

static bool write_list(struct writer *w, const struct node *list, int depth) {
  buf_put(w->out, '[');
  for (const struct node *part = list->first; part; part = part->next) {
    if (part != list->first) buf_put(w->out, ',');
    if (!write_value(w, part, true, depth)) return false;
  }
  buf_put(w->out, ']');
  return true;
}

/* Elements without a list around them, or beside members, would be lost. */
static bool check_keys(struct writer *w, const struct node *object) {
  bool only_places = true;
  for (const struct node *part = object->first; part; part = part->next)
    only_places &= part->key == KEY_INDEX;
  for (const struct node *part = object->first; part; part = part->next) {
    if (part->key != KEY_NAME)
      return refuse(
          w, bytes_of(only_places ? "a list with holes" : "a table with both list elements and members"));
  }
  return true;
}

static bool write_object(struct writer *w, const struct node *object, int depth) {
  struct bytes outer = w->name;
  if (!check_keys(w, object)) return false;
  buf_put(w->out, '{');
  for (const struct node *part = object->first; part; part = part->next) {
    if (part != object->first) buf_put(w->out, ',');
    buf_json_string(w->out, part->name);
    buf_put(w->out, ':');
    w->name = part->name;
    if (!write_value(w, part, false, depth)) return false;
  }
  w->name = outer;
  buf_put(w->out, '}');
  return true;
}

static bool write_container(struct writer *w, const struct node *value, bool is_element, int depth) {
  if (depth == JSON_DEPTH) return refuse(w, bytes_of("a table that deep"));
  bool named_list =
      !value->first && !is_element && word_in(w->lists, (const char *)w->name.data, w->name.size);
  return value->type == NODE_LIST || named_list ? write_list(w, value, depth + 1)
                                                : write_object(w, value, depth + 1);
}

static bool write_value(struct writer *w, const struct node *value, bool is_element, int depth) {
  switch (value->type) {
  case NODE_NIL:
    buf_text_add(w->out, "null");
    return true;
  case NODE_BOOLEAN:
    buf_text_add(w->out, value->boolean ? "true" : "false");
    return true;
  case NODE_INTEGER:
  case NODE_NUMBER:
    if (value->text.size)
      buf_add(w->out, value->text.data, value->text.size);
    else if (value->type == NODE_INTEGER)
      buf_integer(w->out, value->integer);
    else if (!buf_json_number(w->out, value->number))
      return refuse(w, bytes_of("a number that is not finite"));
    return true;
  case NODE_TEXT:
    buf_json_string(w->out, value->text);
    return true;
  case NODE_LIST:
  case NODE_OBJECT:
    return write_container(w, value, is_element, depth);
  case NODE_OTHER:
    break;
  }
  return refuse(w, value->text);
}

bool json_write(const struct node *value, const char *lists, struct buf *out, struct json_refusal *refusal) {
  struct writer w = {lists, out, refusal, bytes_of("value")};
  return write_value(&w, value, false, 0);
}
