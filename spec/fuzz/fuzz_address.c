/* Any text as the address of a server: a sound one has a scheme and a host and no user, query or fragment. */
#include "base/address.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes text = {data, size}, cut = text;
  enum address found = address_check(&cut);
  struct buf shown = BUF_INIT;
  address_shown(&shown, text);
  if (found == ADDRESS_MALFORMED) require(cut.size == size);
  if (found != ADDRESS_MALFORMED) {
    require(cut.size > 7 && cut.size <= size && cut.data[cut.size - 1] != '/');
    for (size_t i = 0; i < size; i++) require(data[i] > ' ' && !strchr("@?#\\", data[i]));
    require(!buf_ok(&shown) || bytes_equal(buf_bytes(&shown), text));
  }
  buf_free(&shown);
  return 0;
}
