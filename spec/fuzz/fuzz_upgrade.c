/* Any bytes as the request that opens a WebSocket: its views lie inside them, and every answer is whole. */
#include "stream/upgrade.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void look(struct bytes view, const uint8_t *data, size_t size) {
  require(!view.size || (view.data >= data && (size_t)(view.data - data) + view.size <= size));
  require(!view.size || !memchr(view.data, '\n', view.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct upgrade u;
  struct buf out = BUF_INIT;
  if (!upgrade_read((struct bytes){data, size}, &u)) {
    require(size < UPGRADE_MOST);
    return 0;
  }
  require(u.size <= size && (u.status == 101 || u.status == 200 || u.status == 400 || u.status == 405));
  look(u.key, data, size);
  look(u.client_version, data, size);
  look(u.network_interface, data, size);
  look(u.txid, data, size);
  require(upgrade_answer(&out, &u) && out.size > 20);
  buf_free(&out);
  return 0;
}
