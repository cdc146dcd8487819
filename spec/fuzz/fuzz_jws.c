/* Any text as a token: none verifies that this key did not sign, and taking it apart stays within its bytes.
 */
#include "signing/jws.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void read_token(struct crypto *c, struct bytes token, struct bytes public) {
  struct jws t;
  if (jws_read(&t, token, NULL)) {
    jws_has_algorithm(&t, NULL);
    require(t.input.data == token.data && t.input.size < token.size);
    require(!jws_verify(c, &t, public, NULL));
  }
  jws_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct crypto *crypto;
  static struct key *key;
  static struct buf own;
  if (!crypto) crypto = crypto_new(NULL);
  if (!key) key = key_generate(crypto, NULL);
  if (!own.size) require(jws_sign(key, bytes_of("{\"a\":1}"), &own, NULL));
  struct bytes public = {key_public(key), PUBLIC_SIZE};
  read_token(crypto, (struct bytes){data, size}, public);
  if (size != 2) return 0; /* a signature that is checked whole costs a hundred that are not */
  struct buf changed = BUF_INIT;
  buf_add(&changed, own.data, own.size);
  size_t at = data[0] % changed.size;
  if (changed.data[at] != data[1]) {
    changed.data[at] = data[1];
    read_token(crypto, buf_bytes(&changed), public);
  }
  buf_free(&changed);
  return 0;
}
