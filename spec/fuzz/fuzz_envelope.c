/* Any bytes as the envelope of a telemetry message: every view lies inside them, and what is no envelope is
 * refused with a sentence. */
#include "stream/envelope.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void look(struct bytes view, const uint8_t *data, size_t size) {
  require(!view.size ||
          (view.data >= data && view.size <= size && (size_t)(view.data - data) <= size - view.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct envelope v, again;
  struct err e;
  struct buf out = BUF_INIT;
  err_clear(&e);
  if (!envelope_read((struct bytes){data, size}, &v, &e)) {
    require(e.kind == KIND_protocol && e.message[0]);
    return 0;
  }
  look(v.txid, data, size);
  look(v.topic, data, size);
  look(v.message_id, data, size);
  look(v.sender_id, data, size);
  look(v.payload, data, size);
  look(v.device_type, data, size);
  look(v.device_id, data, size);
  if (v.type == ENVELOPE_STREAM) { /* written and read again it says the same */
    envelope_stream(&out, &v);
    require(buf_ok(&out) && envelope_read(buf_bytes(&out), &again, &e));
    require(bytes_equal(v.txid, again.txid) && bytes_equal(v.payload, again.payload) &&
            v.created_at == again.created_at && bytes_equal(v.sender_id, again.sender_id) &&
            bytes_equal(v.topic, again.topic));
  } else {
    envelope_ack(&out, v.txid, v.topic);
    require(buf_ok(&out) && envelope_read(buf_bytes(&out), &again, &e) && bytes_equal(v.txid, again.txid));
  }
  buf_free(&out);
  return 0;
}
