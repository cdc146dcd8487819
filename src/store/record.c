#include "store/record.h"

#include "crypto/digest.h"

#include <string.h>

static const char magic[] = "fleet-store ";

/* ---- reading ---- */

static bool take(struct bytes *text, const char *literal) {
  size_t size = strlen(literal);
  if (text->size < size || memcmp(text->data, literal, size) != 0) return false;
  *text = (struct bytes){text->data + size, text->size - size};
  return true;
}

bool number_take(struct bytes *text, uint64_t *number) {
  size_t digits = 0;
  for (*number = 0; digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9'; digits++) {
    *number = *number * 10 + (uint64_t)(text->data[digits] - '0');
    if (*number > NUMBER_LIMIT) return false;
  }
  *text = (struct bytes){text->data + digits, text->size - digits};
  return digits > 0;
}

static bool take_line(struct bytes *text, struct bytes *line) {
  const unsigned char *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
  if (!end) return false;
  *line = (struct bytes){text->data, (size_t)(end - text->data)};
  *text = (struct bytes){end + 1, text->size - line->size - 1};
  return true;
}

static bool digest_hex(struct buf *out, struct crypto *c, struct bytes in) {
  unsigned char digest[HASH_SIZE];
  if (!crypto_sha256(c, in, digest)) return false;
  buf_hex(out, (struct bytes){digest, sizeof digest});
  return buf_ok(out);
}

static int digit(unsigned char c) {
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : -1;
}

static bool digest_fits(struct crypto *c, struct bytes expected, struct bytes in) {
  unsigned char digest[HASH_SIZE];
  if (expected.size != 2 * HASH_SIZE || !crypto_sha256(c, in, digest)) return false;
  for (size_t i = 0; i < HASH_SIZE; i++)
    if (digit(expected.data[2 * i]) != digest[i] >> 4 || digit(expected.data[2 * i + 1]) != (digest[i] & 15))
      return false;
  return true;
}

static bool take_flag(struct bytes *text, bool *flag) {
  uint64_t number;
  if (!take(text, " ") || !number_take(text, &number) || number > 1) return false;
  *flag = number == 1;
  return true;
}

static bool take_numbers(struct record *r, struct bytes line, uint64_t version) {
  r->durable = true;
  return number_take(&line, &r->generation) && take(&line, " ") && number_take(&line, &r->fence) &&
         take(&line, " ") && number_take(&line, &r->ends) &&
         (version == 1 || take_flag(&line, &r->durable)) && line.size == 0;
}

enum record_result record_decode(struct record *r, struct crypto *c, struct bytes text) {
  uint64_t version;
  struct bytes digest, numbers;
  if (!take(&text, magic) || !number_take(&text, &version) || !take(&text, "\n")) return RECORD_DAMAGED;
  if (version > 2) return RECORD_NEWER;
  if (version == 0 || !take_line(&text, &digest) || !digest_fits(c, digest, text)) return RECORD_DAMAGED;
  bool whole = take_line(&text, &numbers) && take_numbers(r, numbers, version) && take_line(&text, &r->key);
  r->value = text;
  return whole ? RECORD_OK : RECORD_DAMAGED;
}

bool record_head(struct record *r, struct bytes text) {
  uint64_t version;
  struct bytes digest, numbers;
  return take(&text, magic) && number_take(&text, &version) && take(&text, "\n") && version > 0 &&
         version <= 2 && take_line(&text, &digest) && take_line(&text, &numbers) &&
         take_numbers(r, numbers, version) && take_line(&text, &r->key);
}

/* ---- writing ---- */

enum { ROOM_FOR_NUMBERS = 80 };

static void write_number(struct buf *out, uint64_t number, unsigned char end) {
  buf_integer(out, (int64_t)number);
  buf_put(out, end);
}

static void write_rest(struct buf *rest, const struct record *r) {
  buf_reserve(rest, r->key.size + r->value.size + ROOM_FOR_NUMBERS);
  write_number(rest, r->generation, ' ');
  write_number(rest, r->fence, ' ');
  write_number(rest, r->ends, ' ');
  write_number(rest, r->durable, '\n');
  buf_add(rest, r->key.data, r->key.size);
  buf_put(rest, '\n');
  buf_add(rest, r->value.data, r->value.size);
}

void record_encode(struct buf *out, struct crypto *c, const struct record *r) {
  struct buf rest = BUF_INIT;
  write_rest(&rest, r);
  buf_reserve(out, rest.size + ROOM_FOR_NUMBERS + 2 * HASH_SIZE);
  buf_text_add(out, magic);
  buf_text_add(out, "2\n");
  if (!buf_ok(&rest) || !digest_hex(out, c, buf_bytes(&rest))) out->failed = true;
  buf_put(out, '\n');
  buf_add(out, rest.data, rest.size);
  buf_free(&rest);
}
