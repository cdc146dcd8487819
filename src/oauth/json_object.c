#include "oauth/json_object.h"

#include "base/json_scan.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 32, LARGEST_EXPONENT = 999 };

struct cursor {
  const unsigned char *at, *end;
};

static struct cursor cursor_of(struct bytes text) {
  return (struct cursor){text.data, text.size ? text.data + text.size : text.data};
}

static int peek(const struct cursor *c) {
  return c->at < c->end ? *c->at : -1;
}

static void skip_space(struct cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(struct cursor *c, int byte) {
  skip_space(c);
  if (peek(c) != byte) return false;
  c->at++;
  return true;
}

/* ---- values ---- */

static bool skip_string(struct cursor *c) {
  if (!take(c, '"')) return false;
  for (; (c->at += json_plain_run(c->at, c->end)) < c->end && *c->at != '"'; c->at++) {
    if (*c->at < 0x20) return false;
    if (c->at + 1 < c->end) c->at++; /* behind a backslash */
  }
  return c->at < c->end && *c->at++ == '"';
}

/* Numbers and the three words. */
static bool skip_plain(struct cursor *c) {
  const unsigned char *start = c->at;
  while (c->at < c->end && *c->at && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *c->at)) c->at++;
  return c->at > start;
}

static bool skip_value(struct cursor *c, int depth);

static bool skip_list(struct cursor *c, int depth) {
  c->at++;
  if (take(c, ']')) return true;
  do {
    if (!skip_value(c, depth)) return false;
  } while (take(c, ','));
  return take(c, ']');
}

static bool skip_object(struct cursor *c, int depth) {
  c->at++;
  if (take(c, '}')) return true;
  do {
    if (!skip_string(c) || !take(c, ':') || !skip_value(c, depth)) return false;
  } while (take(c, ','));
  return take(c, '}');
}

static bool skip_value(struct cursor *c, int depth) {
  skip_space(c);
  if (depth <= 0) return false;
  if (peek(c) == '"') return skip_string(c);
  if (peek(c) == '[') return skip_list(c, depth - 1);
  if (peek(c) == '{') return skip_object(c, depth - 1);
  return skip_plain(c);
}

bool object_whole(struct bytes text) {
  struct cursor c = cursor_of(text);
  skip_space(&c);
  if (!text.size || peek(&c) != '{' || !skip_value(&c, DEEPEST)) return false;
  skip_space(&c);
  return c.at == c.end;
}

/* ---- strings ---- */

static int hex_value(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at at; -1: there are none. */
static int unit(const unsigned char *at, const unsigned char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    int digit = hex_value(at[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static void put_utf8(struct buf *out, int code) {
  if (code < 0x80) {
    buf_put(out, (unsigned char)code);
    return;
  }
  if (code >= 0x10000) buf_put(out, (unsigned char)(0xF0 | code >> 18));
  if (code >= 0x10000) buf_put(out, (unsigned char)(0x80 | (code >> 12 & 0x3F)));
  if (code >= 0x800 && code < 0x10000) buf_put(out, (unsigned char)(0xE0 | code >> 12));
  if (code >= 0x800) buf_put(out, (unsigned char)(0x80 | (code >> 6 & 0x3F)));
  if (code < 0x800) buf_put(out, (unsigned char)(0xC0 | code >> 6));
  buf_put(out, (unsigned char)(0x80 | (code & 0x3F)));
}

/* Behind "\u". */
static bool put_unicode(struct buf *out, struct cursor *c) {
  int code = unit(c->at, c->end), low = -1;
  if (code < 0) return false;
  c->at += 4;
  bool high = code >= 0xD800 && code < 0xDC00;
  if (high && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u') low = unit(c->at + 2, c->end);
  if (low >= 0xDC00 && low < 0xE000) {
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    c->at += 6;
  } else if (code >= 0xD800 && code < 0xE000) {
    code = 0xFFFD;
  }
  put_utf8(out, code);
  return true;
}

static bool put_escape(struct buf *out, struct cursor *c) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  if (c->at >= c->end) return false;
  unsigned char name = *c->at++;
  if (name == 'u') return put_unicode(out, c);
  const char *found = name ? strchr(names, name) : NULL;
  if (found) buf_put(out, (unsigned char)values[found - names]);
  return found != NULL;
}

/* quoted: a string with its quotation marks. */
static bool decode(struct bytes quoted, struct buf *out) {
  struct cursor c = {quoted.data + 1, quoted.data + quoted.size - 1};
  bool good = true;
  while (good && c.at < c.end) {
    const unsigned char *escape = memchr(c.at, '\\', (size_t)(c.end - c.at));
    const unsigned char *stop = escape ? escape : c.end;
    buf_add(out, c.at, (size_t)(stop - c.at));
    c.at = stop;
    if (escape) c.at++, good = put_escape(out, &c);
  }
  return good && buf_ok(out);
}

/* ---- members ---- */

static bool is_named(struct bytes quoted, const char *name) {
  if (!memchr(quoted.data, '\\', quoted.size))
    return bytes_equal((struct bytes){quoted.data + 1, quoted.size - 2}, bytes_of(name));
  struct buf decoded = BUF_INIT;
  bool same = decode(quoted, &decoded) && bytes_equal(buf_bytes(&decoded), bytes_of(name));
  buf_free(&decoded);
  return same;
}

static struct bytes between(const unsigned char *start, const unsigned char *end) {
  return (struct bytes){start, (size_t)(end - start)};
}

struct bytes object_member(struct bytes object, const char *name) {
  struct bytes found = {NULL, 0};
  struct cursor c = cursor_of(object);
  if (!object.size || !take(&c, '{')) return found;
  do {
    skip_space(&c);
    const unsigned char *start = c.at;
    if (!skip_string(&c)) break;
    struct bytes key = between(start, c.at);
    if (!take(&c, ':')) break;
    skip_space(&c);
    start = c.at;
    if (!skip_value(&c, DEEPEST)) break;
    if (is_named(key, name)) found = between(start, c.at);
  } while (take(&c, ','));
  return found;
}

bool object_text(struct bytes object, const char *name, struct buf *out) {
  struct bytes value = object_member(object, name);
  buf_clear(out);
  if (!value.size || *value.data != '"') return false;
  if (decode(value, out)) return true;
  buf_clear(out);
  return false;
}

/* ---- numbers ---- */

static double digits(struct cursor *c, double value, double scale) {
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    value = scale < 1 ? value + (*c->at - '0') * scale : value * 10 + (*c->at - '0');
    if (scale < 1) scale /= 10;
  }
  return value;
}

static double exponent(struct cursor *c) {
  bool negative = peek(c) == '-';
  if (negative || peek(c) == '+') c->at++;
  double value = fmin(digits(c, 0, 1), LARGEST_EXPONENT);
  return negative ? -value : value;
}

/* strtod would take hexadecimal digits, words and the locale's point. */
static double number_of(struct bytes text) {
  struct cursor c = cursor_of(text);
  bool negative = peek(&c) == '-';
  if (negative) c.at++;
  const unsigned char *start = c.at;
  double value = digits(&c, 0, 1);
  if (c.at == start) return 0;
  if (peek(&c) == '.') c.at++, value = digits(&c, value, 0.1);
  if (peek(&c) == 'e' || peek(&c) == 'E') c.at++, value *= pow(10, exponent(&c));
  if (c.at != c.end) return 0;
  return negative ? -value : value;
}

double object_number(struct bytes object, const char *name) {
  struct bytes value = object_member(object, name);
  if (!value.size) return 0;
  if (*value.data != '"') return number_of(value);
  struct buf text = BUF_INIT;
  double number = decode(value, &text) && text.size ? number_of(buf_bytes(&text)) : 0;
  buf_free(&text);
  return number;
}
