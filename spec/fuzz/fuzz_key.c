/* Any text as a key file, and any bytes as another party's public key, in each form: what is taken is a key
 * of P-256 and survives saving. */
#include "crypto/key.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void save_again(struct crypto *c, struct key *k) {
  struct buf pem = BUF_INIT;
  require(key_private_pem(k, (struct bytes){NULL, 0}, &pem, NULL));
  struct key *again = key_parse(c, buf_bytes(&pem), (struct bytes){NULL, 0}, NULL);
  require(again && memcmp(key_public(again), key_public(k), PUBLIC_SIZE) == 0);
  key_unref(again);
  buf_free(&pem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct crypto *crypto;
  static struct key *own;
  struct err e;
  err_clear(&e);
  unsigned char shared[SHARED_SIZE];
  if (!crypto) crypto = crypto_new(NULL);
  if (!own) own = key_generate(crypto, NULL);
  struct key *k = key_parse(crypto, (struct bytes){data, size}, bytes_of("passphrase"), &e);
  if (k)
    save_again(crypto, k);
  else
    require(e.kind != KIND_none && e.message[0]);
  key_unref(k);
  unsigned char public[PUBLIC_SIZE];
  err_clear(&e);
  require(key_public_parse((struct bytes){data, size}, public, &e) ? public[0] == 4
                                                                   : e.kind != KIND_none && e.message[0]);
  bool from_pem = e.kind == KIND_none;
  err_clear(&e);
  bool read = key_public_read(crypto, (struct bytes){data, size}, public, &e);
  require(read ? public[0] == 4 : !from_pem && e.kind != KIND_none && e.message[0]);
  if (key_shared(own, (struct bytes){data, size}, shared, NULL)) require(size == PUBLIC_SIZE && data[0] == 4);
  return 0;
}
