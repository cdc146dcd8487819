/* Any text as a chain of certificates: what is read has facts, what is not read has a sentence. */
#include "crypto/x509.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char mark[] = "-----BEGIN CERTIFICATE-----";
  struct err e;
  err_clear(&e);
  struct chain chain = {0};
  bool ok = x509_chain((struct bytes){data, size}, bytes_of("t.example.com"), &chain, &e);
  require(ok ? chain.count <= CHAIN_MOST : e.kind != KIND_none && e.message[0]);
  if (ok && !(size && memmem(data, size, mark, sizeof mark - 1))) require(chain.count == 0);
  for (size_t i = 0; ok && i < chain.count; i++) require(chain.at[i].until > INT64_MIN / 2);
  return 0;
}
