#include "signing/derived_keys.h"

bool derive_keys(struct crypto *c, const unsigned char shared[SHARED_SIZE], unsigned char command[MAC_SIZE],
                 unsigned char info[MAC_SIZE]) {
  struct bytes k = {shared, SHARED_SIZE};
  return crypto_hmac_twice(c, k, bytes_of("authenticated command"), command, bytes_of("session info"), info);
}
