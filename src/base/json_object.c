#include "base/json_object.h"

#include "base/json_cursor.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 32, LARGEST_EXPONENT = 999 };

static bool skip_value(struct json_cursor *c, int depth);

static bool skip_list(struct json_cursor *c, int depth) {
  c->at++;
  if (json_take(c, ']')) return true;
  do {
    if (!skip_value(c, depth)) return false;
  } while (json_take(c, ','));
  return json_take(c, ']');
}

static bool skip_object(struct json_cursor *c, int depth) {
  c->at++;
  if (json_take(c, '}')) return true;
  do {
    if (!json_skip_string(c) || !json_take(c, ':') || !skip_value(c, depth)) return false;
  } while (json_take(c, ','));
  return json_take(c, '}');
}

static bool skip_value(struct json_cursor *c, int depth) {
  json_skip_space(c);
  if (depth <= 0) return false;
  if (json_peek(c) == '"') return json_skip_string(c);
  if (json_peek(c) == '[') return skip_list(c, depth - 1);
  if (json_peek(c) == '{') return skip_object(c, depth - 1);
  return json_skip_plain(c);
}

bool object_whole(struct bytes text) {
  struct json_cursor c = json_cursor_of(text);
  json_skip_space(&c);
  if (!text.size || json_peek(&c) != '{' || !skip_value(&c, DEEPEST)) return false;
  json_skip_space(&c);
  return c.at == c.end;
}

/* ---- members ---- */

static bool is_named(struct bytes quoted, const char *name) {
  if (!memchr(quoted.data, '\\', quoted.size))
    return bytes_equal((struct bytes){quoted.data + 1, quoted.size - 2}, bytes_of(name));
  struct buf decoded = BUF_INIT;
  bool same = json_unquote(quoted, &decoded) && bytes_equal(buf_bytes(&decoded), bytes_of(name));
  buf_free(&decoded);
  return same;
}

static struct bytes between(const unsigned char *start, const unsigned char *end) {
  return (struct bytes){start, (size_t)(end - start)};
}

struct bytes object_member(struct bytes object, const char *name) {
  struct bytes found = {NULL, 0};
  struct json_cursor c = json_cursor_of(object);
  if (!object.size || !json_take(&c, '{')) return found;
  do {
    json_skip_space(&c);
    const unsigned char *start = c.at;
    if (!json_skip_string(&c)) break;
    struct bytes key = between(start, c.at);
    if (!json_take(&c, ':')) break;
    json_skip_space(&c);
    start = c.at;
    if (!skip_value(&c, DEEPEST)) break;
    if (is_named(key, name)) found = between(start, c.at);
  } while (json_take(&c, ','));
  return found;
}

bool object_text(struct bytes object, const char *name, struct buf *out) {
  struct bytes value = object_member(object, name);
  buf_clear(out);
  if (!value.size || *value.data != '"') return false;
  if (json_unquote(value, out)) return true;
  buf_clear(out);
  return false;
}

/* ---- numbers ---- */

static double digits(struct json_cursor *c, double value, double scale) {
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    value = scale < 1 ? value + (*c->at - '0') * scale : value * 10 + (*c->at - '0');
    if (scale < 1) scale /= 10;
  }
  return value;
}

static double exponent(struct json_cursor *c) {
  bool negative = json_peek(c) == '-';
  if (negative || json_peek(c) == '+') c->at++;
  double value = fmin(digits(c, 0, 1), LARGEST_EXPONENT);
  return negative ? -value : value;
}

/* strtod accepts hexadecimal digits and words, and expects the locale's decimal point. */
static double number_of(struct bytes text) {
  struct json_cursor c = json_cursor_of(text);
  bool negative = json_peek(&c) == '-';
  if (negative) c.at++;
  const unsigned char *start = c.at;
  double value = digits(&c, 0, 1);
  if (c.at == start) return 0;
  if (json_peek(&c) == '.') c.at++, value = digits(&c, value, 0.1);
  if (json_peek(&c) == 'e' || json_peek(&c) == 'E') c.at++, value *= pow(10, exponent(&c));
  if (c.at != c.end) return 0;
  return negative ? -value : value;
}

double object_number(struct bytes object, const char *name) {
  struct bytes value = object_member(object, name);
  if (!value.size) return 0;
  if (*value.data != '"') return number_of(value);
  struct buf text = BUF_INIT;
  double number = json_unquote(value, &text) && text.size ? number_of(buf_bytes(&text)) : 0;
  buf_free(&text);
  return number;
}
