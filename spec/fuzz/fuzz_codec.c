/* Any bytes as a command, an answer or vehicle data: what is decoded says the same when it is encoded again,
 * or is refused with a sentence: another client's message may say what this one does not send. */
#include "signing/wire/command_result.h"
#include "signing/wire/codec.h"
#include "signing/wire/reflect.h"
#include "signing/wire/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void decode(enum domain domain, struct bytes in, size_t at) {
  struct arena a, b;
  struct value values[DECODE_MAX], again[DECODE_MAX];
  struct buf first = BUF_INIT, second = BUF_INIT;
  const char *action;
  struct err e;
  err_clear(&e);
  arena_start(&a, 4 * MESSAGE_LIMIT);
  arena_start(&b, 4 * MESSAGE_LIMIT);
  const struct row *row = codec_decode(domain, in, at, &a, values, NULL);
  if (row && !codec_encode(row, values, 0, &first, &e)) {
    require(e.kind == KIND_invalid && strstr(e.message, " must be "));
  } else if (row) {
    const struct row *other = codec_decode(domain, buf_bytes(&first), 0, &b, again, NULL);
    require(other == row && codec_encode(other, again, 0, &second, NULL));
    require(bytes_equal(buf_bytes(&first), buf_bytes(&second)));
    require(codec_action(domain, in, &a, &action) && action);
  }
  buf_free(&first);
  buf_free(&second);
  arena_end(&a);
  arena_end(&b);
}

static void read_answer(enum domain domain, struct bytes in, bool authenticated) {
  struct err e;
  err_clear(&e);
  struct answer_facts f = {domain, in, authenticated, STATUS_OK};
  if (!answer_read(&f, &e)) require(e.kind != KIND_none && e.outcome != OUTCOME_NONE);
}

static void print(const char *type, struct bytes in) {
  struct buf json = BUF_INIT;
  if (members_json(type, in, in.size & 1, &json, NULL))
    require(json.size >= 2 && json.data[0] == '{' && json.data[json.size - 1] == '}');
  buf_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  struct bytes in = {data + 1, size - 1};
  bool vcsec = data[0] & 1;
  enum domain domain = vcsec ? DOMAIN_VCSEC : DOMAIN_INFOTAINMENT;
  if (data[0] & 2) {
    decode(domain, in, 0);
    decode(domain, in, 1);
    print(vcsec ? "VCSEC.UnsignedMessage" : "CarServer.Action", in);
  } else {
    read_answer(domain, in, data[0] & 4);
    print(vcsec ? "VCSEC.FromVCSECMessage" : "CarServer.Response", in);
  }
  return 0;
}
