/* Any bytes as an envelope or a session info: what is read is bounded, and reads the same after it was
 * written again. */
#include "signing/wire/message.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static bool same(struct bytes a, struct bytes b) {
  return a.size == b.size && bytes_equal(a, b);
}

static void write_again(const struct message *m) {
  struct arena a;
  struct message again;
  struct buf out = BUF_INIT;
  arena_start(&a, 8 * MESSAGE_LIMIT);
  require(message_write(m, &out));
  if (out.size <= MESSAGE_LIMIT) {
    require(message_read(&again, buf_bytes(&out), &a, NULL));
    require(again.kind == m->kind && again.signature == m->signature && again.counter == m->counter);
    require(again.fault == m->fault && again.status == m->status && again.flags == m->flags);
    require(same(again.payload, m->payload) && same(again.tag, m->tag) && same(again.nonce, m->nonce));
    require(same(again.uuid, m->uuid) && same(again.request_uuid, m->request_uuid) &&
            same(again.epoch, m->epoch));
    require(same(again.to_address, m->to_address) && same(again.from_address, m->from_address));
  }
  buf_free(&out);
  arena_end(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena a;
  struct message m;
  struct session_info i;
  struct bytes in = {data, size};
  arena_start(&a, 4 * MESSAGE_LIMIT);
  if (message_read(&m, in, &a, NULL)) {
    write_again(&m);
    if (m.kind == PAYLOAD_SESSION_INFO) session_info_read(&i, m.payload, &a, NULL);
  }
  session_info_read(&i, in, &a, NULL);
  arena_end(&a);
  return 0;
}
