/* Any bytes as a file of the store, as the number in a lock, as a sealed value and as a key; and true ones
 * with one bit changed. The first byte chooses. What was changed is never taken for true. */
#include "store/lock.h"
#include "store/record.h"
#include "store/seal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static struct crypto *crypto;
static const char key_text[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

static bool same(const struct record *a, const struct record *b) {
  return a->generation == b->generation && a->fence == b->fence && a->ends == b->ends &&
         a->durable == b->durable && bytes_equal(a->key, b->key) && bytes_equal(a->value, b->value);
}

static void check_record(const struct record *r) {
  struct record again;
  struct buf text = BUF_INIT;
  require(r->generation <= NUMBER_LIMIT && r->fence <= NUMBER_LIMIT && r->ends <= NUMBER_LIMIT);
  record_encode(&text, crypto, r);
  require(buf_ok(&text) && text.size <= r->value.size + r->key.size + RECORD_OVERHEAD);
  require(record_decode(&again, crypto, buf_bytes(&text)) == RECORD_OK && same(r, &again));
  buf_free(&text);
}

static void try_file(struct bytes in) {
  struct record r;
  if (record_decode(&r, crypto, in) == RECORD_OK) check_record(&r);
}

static uint64_t take_number(struct bytes *in) {
  uint64_t number = 0;
  for (int i = 0; i < 7 && in->size; i++, in->data++, in->size--) number = number << 8 | in->data[0];
  return number % (NUMBER_LIMIT + 1);
}

static void flip(unsigned char *data, size_t size, uint64_t which) {
  data[which / 8 % size] ^= (unsigned char)(1u << which % 8);
}

static void try_changed_record(struct bytes in) {
  struct record r = {.generation = take_number(&in), .fence = take_number(&in), .ends = take_number(&in)};
  uint64_t which = take_number(&in);
  struct buf text = BUF_INIT;
  r.key = (struct bytes){in.data, in.size / 2};
  if (r.key.size && memchr(r.key.data, '\n', r.key.size)) return;
  r.value = (struct bytes){in.data + r.key.size, in.size - r.key.size};
  r.durable = which & 1;
  check_record(&r);
  record_encode(&text, crypto, &r);
  flip(text.data, text.size, which);
  require(record_decode(&r, crypto, buf_bytes(&text)) != RECORD_OK);
  buf_free(&text);
}

static void try_number(struct bytes in) {
  char text[NUMBER_SIZE + 1];
  uint64_t number, read;
  if (number_parse(in, &number) != NUMBER_DAMAGED) require(number <= NUMBER_LIMIT);
  number = take_number(&in);
  number_format(text, number);
  require(number_parse(bytes_of(text), &read) == NUMBER_GOOD && read == number);
  flip((unsigned char *)text, NUMBER_SIZE, take_number(&in));
  require(number_parse((struct bytes){(unsigned char *)text, NUMBER_SIZE}, &read) == NUMBER_DAMAGED);
}

static void try_sealed(struct bytes in) {
  struct seal_key k;
  struct err e;
  err_clear(&e);
  struct buf sealed = BUF_INIT, plain = BUF_INIT;
  struct bytes name = bytes_of("token/default/user");
  require(seal_key_read(&k, crypto, bytes_of(key_text), false, &e));
  require(!unseal(&k, crypto, name, in, &plain, &e) && plain.size == 0);
  require(seal(&k, crypto, name, in, &sealed, &e) && is_sealed(buf_bytes(&sealed)));
  require(unseal(&k, crypto, name, buf_bytes(&sealed), &plain, &e) && bytes_equal(buf_bytes(&plain), in));
  buf_clear(&plain);
  flip(sealed.data, sealed.size, take_number(&in));
  require(!unseal(&k, crypto, name, buf_bytes(&sealed), &plain, &e) && plain.size == 0);
  buf_free(&plain);
  buf_free(&sealed);
}

static void try_key(struct bytes in) {
  struct seal_key k;
  struct err e;
  err_clear(&e);
  if (in.size && in.data[0] == '@') return; /* names a file */
  require(seal_key_read(&k, crypto, in, false, &e) || e.kind != KIND_none);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const ways[])(struct bytes) = {try_file, try_changed_record, try_number, try_sealed, try_key};
  if (!crypto) crypto = crypto_new(NULL);
  require(crypto);
  if (size) ways[data[0] % (sizeof ways / sizeof *ways)]((struct bytes){data + 1, size - 1});
  return 0;
}
