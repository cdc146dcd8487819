#include "base/json_cursor.h"

#include "base/endian.h"

#include <string.h>

/* ---- plain text, eight bytes together ---- */

/* A bit for every byte that is zero, and perhaps for those above it. */
static uint64_t zero_bytes(uint64_t word) {
  return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

static uint64_t special_bytes(uint64_t word) {
  uint64_t control = (word - 0x2020202020202020u) & ~word & 0x8080808080808080u;
  return control | zero_bytes(word ^ 0x2222222222222222u) | zero_bytes(word ^ 0x5C5C5C5C5C5C5C5Cu);
}

size_t json_plain_run(const unsigned char *at, const unsigned char *end) {
  const unsigned char *start = at;
  for (uint64_t word; end - at >= 8; at += 8) {
    memcpy(&word, at, 8);
    word = special_bytes(FROM_LITTLE_ENDIAN(word));
    if (word) return (size_t)(at - start) + (size_t)__builtin_ctzll(word) / 8;
  }
  while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') at++;
  return (size_t)(at - start);
}

/* ---- tokens ---- */

struct json_cursor json_cursor_of(struct bytes text) {
  return (struct json_cursor){text.data, text.size ? text.data + text.size : text.data};
}

int json_peek(const struct json_cursor *c) {
  return c->at < c->end ? *c->at : -1;
}

void json_skip_space(struct json_cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

bool json_take(struct json_cursor *c, int byte) {
  json_skip_space(c);
  if (json_peek(c) != byte) return false;
  c->at++;
  return true;
}

bool json_skip_string(struct json_cursor *c) {
  if (!json_take(c, '"')) return false;
  for (; (c->at += json_plain_run(c->at, c->end)) < c->end && *c->at != '"'; c->at++) {
    if (!*c->at) return false;
    if (*c->at == '\\' && c->at + 1 < c->end) c->at++;
  }
  return c->at < c->end && *c->at++ == '"';
}

static bool is_plain(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '+' || c == 'E';
}

bool json_skip_plain(struct json_cursor *c) {
  const unsigned char *start = c->at;
  while (c->at < c->end && is_plain(*c->at)) c->at++;
  return c->at > start;
}

/* ---- strings ---- */

static int hex_value(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int json_code_unit(const unsigned char *at, const unsigned char *end) {
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
static bool put_unicode(struct buf *out, struct json_cursor *c) {
  int code = json_code_unit(c->at, c->end), low = -1;
  if (code < 0) return false;
  c->at += 4;
  bool high = code >= 0xD800 && code < 0xDC00;
  if (high && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u')
    low = json_code_unit(c->at + 2, c->end);
  if (low >= 0xDC00 && low < 0xE000) {
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    c->at += 6;
  } else if (code >= 0xD800 && code < 0xE000) {
    code = 0xFFFD;
  }
  put_utf8(out, code);
  return true;
}

static bool put_escape(struct buf *out, struct json_cursor *c) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  if (c->at >= c->end) return false;
  unsigned char name = *c->at++;
  if (name == 'u') return put_unicode(out, c);
  const char *found = name ? strchr(names, name) : NULL;
  if (found) buf_put(out, (unsigned char)values[found - names]);
  return found != NULL;
}

bool json_unquote(struct bytes quoted, struct buf *out) {
  struct json_cursor c = {quoted.data + 1, quoted.data + quoted.size - 1};
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
