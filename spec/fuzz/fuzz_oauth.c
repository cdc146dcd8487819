/* What a browser or the authorization server hands in: query strings of callbacks, and tokens whose claims
 * are read. */
#include "oauth/oauth.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes in = {data, size};
  struct err e = ERR_INIT;
  struct buf out = BUF_INIT;
  static const char *const names[] = {"code", "state", "error", "a"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    oauth_field(in, names[i], &out, &e);
    buf_clear(&out);
  }
  oauth_claims(&out, in);
  buf_free(&out);
  return 0;
}
