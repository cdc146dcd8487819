/* What a browser hands in: a code comes out only of an address that carries our state, or of a bare word. */
#include "oauth/callback.h"
#include "oauth/form.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char state[] = "S1", other[] = "another state";
  struct callback_expected ours = {bytes_of(state), "https://a.example", "https://b.example/x"};
  struct callback_expected foreign = {bytes_of(other), "https://a.example", "https://b.example/x"};
  struct bytes in = {data, size};
  struct buf code = BUF_INIT, again = BUF_INIT;
  struct err e, f;
  err_clear(&e);
  err_clear(&f);
  enum callback_end end = callback_read(in, &ours, &code, &e);
  require((end == CALLBACK_CODE) == (e.kind == KIND_none) && (end == CALLBACK_CODE) == (code.size > 0));
  bool bare = end == CALLBACK_CODE && !memmem(data, size, "=", 1);
  if (!memmem(data, size, other, sizeof other - 1) && !memmem(data, size, "%", 1) &&
      !memmem(data, size, "+", 1))
    require((callback_read(in, &foreign, &again, &f) == CALLBACK_CODE) == bare);
  buf_free(&code);
  buf_free(&again);
  return 0;
}
