#include "base/json_scan.h"

#include <string.h>

enum { ESCAPE = 6 /* \uXXXX */, EXACT_DIGITS = 15 };

/* ---- surrogates ---- */

/* The code unit of the escape \uXXXX at this place, or -1. */
static int unit_at(const unsigned char *at, const unsigned char *end) {
  return end - at >= ESCAPE && at[0] == '\\' && at[1] == 'u' ? json_code_unit(at + 2, end) : -1;
}

static bool is_high(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

/* How many bytes the escape at this backslash has; lone says that it is half of a pair without the other. */
static size_t escape_size(const unsigned char *at, const unsigned char *end, bool *lone) {
  int unit = unit_at(at, end);
  bool paired = is_high(unit) && is_low(unit_at(at + ESCAPE, end));
  *lone = !paired && (is_high(unit) || is_low(unit));
  if (paired) return 2 * ESCAPE;
  return unit < 0 ? 2 : ESCAPE;
}

/* Behind the string that starts at this quote; or at the first lone surrogate in it, when lone is given.
 */
static const unsigned char *skip_string(const unsigned char *at, const unsigned char *end, bool *lone) {
  bool half = false;
  if (lone) *lone = false;
  for (at++; (at += json_plain_run(at, end)) < end && *at != '"';) {
    size_t size = *at == '\\' ? escape_size(at, end, &half) : 1;
    if (lone && half) {
      *lone = true;
      return at;
    }
    at = (size_t)(end - at) < size ? end : at + size;
  }
  return at < end ? at + 1 : end;
}

/* ---- mending ---- */

struct bytes json_next_lone(const unsigned char *at, const unsigned char *end) {
  bool lone = false;
  while (at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
    at = skip_string(at, end, &lone);
    if (lone) return (struct bytes){at, ESCAPE};
  }
  return (struct bytes){end, 0};
}

/* In the rest of a string whose beginning is copied already, and behind it. */
static struct bytes next_in_string(const unsigned char *at, const unsigned char *end) {
  bool lone;
  const unsigned char *stop = skip_string(at - 1, end, &lone);
  return lone ? (struct bytes){stop, ESCAPE} : json_next_lone(stop, end);
}

void json_mend(struct bytes text, struct bytes lone, struct buf *out) {
  const unsigned char *copied = text.data, *end = text.data + text.size;
  while (lone.size) {
    buf_add(out, copied, (size_t)(lone.data - copied));
    copied = lone.data + lone.size;
    buf_text_add(out, "\\ufffd");
    lone = next_in_string(copied, end);
  }
  buf_add(out, copied, (size_t)(end - copied));
}

/* ---- integers that a double cannot hold ---- */

static bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

static const unsigned char *number_end(const unsigned char *at, const unsigned char *end) {
  while (at < end && (is_digit(*at) || (*at && strchr("+-.eE", *at)))) at++;
  return at;
}

/* An integer as JSON writes it: the reader refuses what begins with a zero. */
static bool is_long_integer(const unsigned char *at, const unsigned char *end) {
  at += *at == '-';
  if (end - at <= EXACT_DIGITS || *at == '0') return false;
  while (at < end && is_digit(*at)) at++;
  return at == end;
}

static const unsigned char *skip_blanks(const unsigned char *at, const unsigned char *end) {
  while (at < end && *at && strchr(" \t\r\n", *at)) at++;
  return at;
}

/* Whether there is a run of more than 15 digits: it covers one of every 16 places. */
static bool has_long_run(const unsigned char *at, const unsigned char *end) {
  for (const unsigned char *place = at + EXACT_DIGITS; place < end; place += EXACT_DIGITS + 1) {
    const unsigned char *first = place, *behind = place;
    while (first > at && is_digit(first[-1])) first--;
    while (behind < end && is_digit(*behind)) behind++;
    if (behind - first > EXACT_DIGITS) return true;
  }
  return false;
}

struct bytes json_next_long(const unsigned char *at, const unsigned char *end) {
  if (end - at <= EXACT_DIGITS || !has_long_run(at, end)) return (struct bytes){end, 0};
  while (at < end) {
    if (*at == '"') {
      at = skip_string(at, end, NULL);
    } else if (is_digit(*at) || *at == '-') {
      const unsigned char *stop = number_end(at, end), *next = skip_blanks(stop, end);
      bool is_name = next < end && *next == ':'; /* no JSON, and none with quotes either */
      if (!is_name && is_long_integer(at, stop)) return (struct bytes){at, (size_t)(stop - at)};
      at = stop;
    } else {
      at++;
    }
  }
  return (struct bytes){end, 0};
}

void json_quote_long(struct bytes text, struct bytes number, struct buf *out) {
  const unsigned char *copied = text.data, *end = text.data + text.size;
  while (number.size) {
    buf_add(out, copied, (size_t)(number.data - copied));
    buf_put(out, '"');
    buf_add(out, number.data, number.size);
    buf_put(out, '"');
    copied = number.data + number.size;
    number = json_next_long(copied, end);
  }
  buf_add(out, copied, (size_t)(end - copied));
}

/* ---- looking ---- */

static struct bytes from(struct bytes text, const unsigned char *at) {
  return (struct bytes){at, (size_t)(text.data + text.size - at)};
}

static struct bytes trimmed(struct bytes text) {
  while (text.size && strchr(" \t\r\n", *text.data) && *text.data) text.data++, text.size--;
  return text;
}

char json_first(struct bytes text) {
  text = trimmed(text);
  return text.size ? (char)*text.data : '\0';
}

/* Behind the value that starts here: up to the comma or the bracket that ends it. */
static const unsigned char *skip_value(const unsigned char *at, const unsigned char *end) {
  for (int depth = 0; at < end;) {
    if (*at == '"') {
      at = skip_string(at, end, NULL);
      continue;
    }
    if (*at == '{' || *at == '[') depth++;
    if (depth == 0 && (*at == ',' || *at == '}' || *at == ']')) return at;
    if (*at == '}' || *at == ']') depth--;
    at++;
  }
  return end;
}

/* The name that starts at this quote, without quotes; what follows it comes into rest. */
static bool take_name(struct bytes *rest, struct bytes *name) {
  const unsigned char *start = rest->data, *stop = skip_string(start, start + rest->size, NULL);
  if (stop - start < 2) return false;
  *name = (struct bytes){start + 1, (size_t)(stop - start - 2)};
  *rest = trimmed(from(*rest, stop));
  return rest->size && *rest->data == ':';
}

bool json_member(struct bytes *text, const char *name) {
  struct bytes rest = trimmed(*text), found = {NULL, 0}, given;
  if (!rest.size || *rest.data != '{') return false;
  for (char c = '{'; c == '{' || c == ',';) {
    rest = trimmed(from(rest, rest.data + 1));
    if (!rest.size || *rest.data != '"' || !take_name(&rest, &given)) break;
    const unsigned char *value = rest.data + 1, *stop = skip_value(value, rest.data + rest.size);
    if (given.size == strlen(name) && memcmp(given.data, name, given.size) == 0)
      found = (struct bytes){value, (size_t)(stop - value)};
    rest = from(rest, stop);
    c = rest.size ? (char)*rest.data : '\0';
  }
  if (found.data) *text = found;
  return found.data != NULL;
}
