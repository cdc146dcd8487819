#include "base/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes bytes_of(const char *text) {
  return (struct bytes){(const unsigned char *)text, text ? strlen(text) : 0};
}

struct bytes buf_bytes(const struct buf *b) {
  return (struct bytes){b->data, b->size};
}

bool bytes_equal(struct bytes a, struct bytes b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool bytes_equal_secret(struct bytes a, struct bytes b) {
  if (a.size != b.size) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size; i++) difference = (unsigned char)(difference | (a.data[i] ^ b.data[i]));
  return difference == 0;
}

/* The compiler cannot know that this is memset, and may not leave it out. */
static void *(*const volatile set_memory)(void *, int, size_t) = memset;

void wipe(void *data, size_t size) {
  if (data && size) set_memory(data, 0, size);
}

void buf_free(struct buf *b) {
  wipe(b->data, b->capacity);
  free(b->data);
  *b = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *b) {
  wipe(b->data, b->size);
  b->size = 0;
  b->failed = false;
}

bool buf_ok(const struct buf *b) {
  return !b->failed;
}

const char *buf_text(const struct buf *b) {
  return b->data ? (const char *)b->data : "";
}

/* realloc would leave a copy of a secret behind: new memory, copy, wipe the old. */
static bool grow(struct buf *b, size_t capacity) {
  unsigned char *data = malloc(capacity + 1);
  if (!data) return !(b->failed = true);
  if (b->size) memcpy(data, b->data, b->size);
  data[b->size] = '\0';
  wipe(b->data, b->capacity);
  free(b->data);
  b->data = data;
  b->capacity = capacity;
  return true;
}

bool buf_reserve(struct buf *b, size_t more) {
  if (b->failed) return false;
  if (b->data && b->capacity - b->size >= more) return true;
  if (more > SIZE_MAX / 4 - b->size) return !(b->failed = true);
  size_t need = b->size + more, capacity = b->capacity < 32 ? 64 : b->capacity * 2;
  return grow(b, need > capacity ? need : capacity);
}

/* The same where the room is there already, which it nearly always is. */
static inline bool has_room(struct buf *b, size_t more) {
  if (b->data && !b->failed && b->capacity - b->size >= more) return true;
  return buf_reserve(b, more);
}

void buf_add(struct buf *b, const void *data, size_t size) {
  if (!has_room(b, size)) return;
  if (size) memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = '\0';
}

void buf_put(struct buf *b, unsigned char byte) {
  if (!has_room(b, 1)) return;
  b->data[b->size++] = byte;
  b->data[b->size] = '\0';
}

void buf_text_add(struct buf *b, const char *text) {
  buf_add(b, text, strlen(text));
}

void buf_format_list(struct buf *b, const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  int size = vsnprintf(NULL, 0, format, list);
  if (size < 0 || !buf_reserve(b, (size_t)size)) {
    b->failed = true;
  } else {
    vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, again);
    b->size += (size_t)size;
  }
  va_end(again);
}

void buf_format(struct buf *b, const char *format, ...) {
  va_list list;
  va_start(list, format);
  buf_format_list(b, format, list);
  va_end(list);
}

void buf_u32be(struct buf *b, uint32_t value) {
  unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                            (unsigned char)(value >> 8), (unsigned char)value};
  buf_add(b, bytes, sizeof bytes);
}

static const char hex_digits[] = "0123456789abcdef";

void buf_hex(struct buf *b, struct bytes in) {
  if (!buf_reserve(b, 2 * in.size)) return;
  unsigned char *at = b->data + b->size; /* a local: a byte that is written may be anything of b */
  for (size_t i = 0; i < in.size; i++) {
    *at++ = (unsigned char)hex_digits[in.data[i] >> 4];
    *at++ = (unsigned char)hex_digits[in.data[i] & 15];
  }
  *at = '\0';
  b->size += 2 * in.size;
}

static int hex_value(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool buf_unhex(struct buf *b, struct bytes in) {
  if (in.size % 2) return false;
  for (size_t i = 0; i < in.size; i += 2) {
    int high = hex_value(in.data[i]), low = hex_value(in.data[i + 1]);
    if (high < 0 || low < 0) return false;
    buf_put(b, (unsigned char)(high << 4 | low));
  }
  return buf_ok(b);
}

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static unsigned char *base64_group(unsigned char *out, uint32_t v, const char *alphabet) {
  *out++ = (unsigned char)alphabet[v >> 18];
  *out++ = (unsigned char)alphabet[v >> 12 & 63];
  *out++ = (unsigned char)alphabet[v >> 6 & 63];
  *out++ = (unsigned char)alphabet[v & 63];
  return out;
}

static void base64(struct buf *b, struct bytes in, const char *alphabet, bool pad) {
  if (!buf_reserve(b, in.size / 3 * 4 + 4)) return;
  unsigned char *out = b->data + b->size;
  const unsigned char *at = in.data;
  size_t rest = in.size % 3;
  for (size_t left = in.size / 3; left > 0; left--, at += 3)
    out = base64_group(out, (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2], alphabet);
  if (rest) {
    out = base64_group(out, (uint32_t)at[0] << 16 | (rest > 1 ? (uint32_t)at[1] << 8 : 0), alphabet) -
          (3 - rest);
    for (size_t i = rest; pad && i < 3; i++) *out++ = '=';
  }
  *out = '\0';
  b->size = (size_t)(out - b->data);
}

void buf_base64(struct buf *b, struct bytes in) {
  base64(b, in, standard, true);
}

void buf_base64url(struct buf *b, struct bytes in) {
  base64(b, in, url_safe, false);
}

static int base64_value(unsigned char c, bool url) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == (url ? '-' : '+')) return 62;
  if (c == (url ? '_' : '/')) return 63;
  return -1;
}

/* in holds no padding here; a last group of one character, or unused bits that are not zero, is refused. */
static bool unbase64(struct buf *b, struct bytes in, bool url) {
  if (in.size % 4 == 1 || !buf_reserve(b, in.size / 4 * 3 + 3)) return false;
  uint32_t v = 0;
  unsigned bits = 0;
  unsigned char *out = b->data + b->size;
  for (size_t i = 0; i < in.size; i++) {
    int digit = base64_value(in.data[i], url);
    if (digit < 0) break;
    v = v << 6 | (uint32_t)digit;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    *out++ = (unsigned char)(v >> bits);
    v &= (1u << bits) - 1;
  }
  bool whole = (size_t)(out - b->data) - b->size == in.size * 3 / 4;
  b->size = (size_t)(out - b->data);
  *out = '\0';
  return whole && v == 0;
}

bool buf_unbase64(struct buf *b, struct bytes in) {
  if (in.size % 4) return false;
  for (int i = 0; i < 2 && in.size && in.data[in.size - 1] == '='; i++) in.size--;
  return unbase64(b, in, false);
}

bool buf_unbase64url(struct buf *b, struct bytes in) {
  return unbase64(b, in, true);
}

static bool unreserved(unsigned char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void buf_percent(struct buf *b, struct bytes in) {
  for (size_t i = 0; i < in.size; i++) {
    if (unreserved(in.data[i]))
      buf_put(b, in.data[i]);
    else
      buf_format(b, "%%%02X", in.data[i]);
  }
}

static void json_character(struct buf *b, unsigned char c) {
  static const char shorthand[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
  const char *at = c ? strchr(shorthand, c) : NULL;
  if (at) {
    buf_put(b, '\\');
    buf_put(b, (unsigned char)letters[at - shorthand]);
  } else if (c < 0x20 || c == 0x7F) {
    buf_format(b, "\\u%04x", c);
  } else {
    buf_put(b, c);
  }
}

static bool needs_escape(unsigned char c) {
  return c < 0x20 || c == '"' || c == '\\' || c == 0x7F;
}

/* A byte of the word is zero: its highest bit is set in what this gives, and no bit where none is. */
static uint64_t zero_bytes(uint64_t word) {
  return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

/* Whether one of eight bytes needs an escape. */
static bool any_escape(const unsigned char *at) {
  const uint64_t each = 0x0101010101010101u;
  uint64_t word;
  memcpy(&word, at, sizeof word);
  uint64_t control = (word - 0x20 * each) & ~word & (0x80 * each);
  return (control | zero_bytes(word ^ '"' * each) | zero_bytes(word ^ '\\' * each) |
          zero_bytes(word ^ 0x7F * each)) != 0;
}

/* How many bytes from here need none. */
static size_t plain_run(const unsigned char *at, size_t size) {
  size_t i = 0;
  while (size - i >= 8 && !any_escape(at + i)) i += 8;
  while (i < size && !needs_escape(at[i])) i++;
  return i;
}

/* What needs no escape is copied in runs: nearly every text is one. */
void buf_json_string(struct buf *b, struct bytes in) {
  if (!has_room(b, in.size + 2)) return;
  b->data[b->size++] = '"';
  for (size_t done = 0; done < in.size;) {
    size_t run = plain_run(in.data + done, in.size - done);
    buf_add(b, in.data + done, run);
    done += run;
    if (done < in.size) json_character(b, in.data[done++]);
  }
  buf_put(b, '"');
}

void buf_integer(struct buf *b, int64_t value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) *--at = '-';
  buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

/* The decimal point of the current locale may be any run of bytes outside the characters of a number. */
static void number_text(struct buf *b, const char *text) {
  bool point = false;
  for (; *text; text++) {
    if (strchr("0123456789+-e", *text)) {
      buf_put(b, (unsigned char)*text);
    } else if (!point) {
      buf_put(b, '.');
      point = true;
    }
  }
}

/* Times and seconds: at most three digits behind the point. The quotient is rounded as a reader rounds the
 * text, so that equal means: these digits are read as this value. */
static bool thousandths(struct buf *b, double value) {
  double whole = nearbyint(value * 1000), size = fabs(whole);
  if (size >= 1e15 || size < 1 || whole / 1000 != value) return false;
  uint64_t rest = (uint64_t)size;
  unsigned digits = (unsigned)(rest % 1000);
  if (value < 0) buf_put(b, '-');
  buf_integer(b, (int64_t)(rest / 1000));
  buf_put(b, '.');
  for (unsigned place = 100; digits; digits %= place, place /= 10)
    buf_put(b, (unsigned char)('0' + digits / place));
  return true;
}

bool buf_json_number(struct buf *b, double value) {
  char text[64];
  if (!isfinite(value)) return false;
  if (value == floor(value) && fabs(value) < 1e15 && !(value == 0 && signbit(value))) {
    buf_integer(b, (int64_t)value);
    return true;
  }
  if (thousandths(b, value)) return true;
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  number_text(b, text);
  return true;
}

void buf_fixed(struct buf *b, double value, int decimals) {
  char text[400]; /* the largest number has 309 digits before the point */
  snprintf(text, sizeof text, "%.*f", decimals, value);
  bool zero = !strpbrk(text, "123456789");
  number_text(b, text + (zero && text[0] == '-'));
}

void buf_shortened(struct buf *b, double value, int decimals) {
  buf_fixed(b, value, decimals);
  if (b->failed || !decimals) return;
  while (b->size && b->data[b->size - 1] == '0') b->size--;
  if (b->size && b->data[b->size - 1] == '.') b->size--;
  b->data[b->size] = 0;
}
