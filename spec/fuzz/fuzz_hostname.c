/* Any text as a host name: what is taken is short and has only the bytes of names; what is said to be meant
 * is a domain. */
#include "base/hostname.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes text = {data, size};
  const char *host = hostname_problem(text), *domain = domain_problem(text);
  if (!host) require(size && size <= 253 && !memchr(data, 0, size) && !memchr(data, '/', size));
  if (host) require(domain == host);
  struct buf meant = BUF_INIT;
  if (domain_meant(text, &meant) && buf_ok(&meant)) require(!domain_problem(buf_bytes(&meant)));
  buf_free(&meant);
  return 0;
}
