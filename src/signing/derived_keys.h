/* The keys of one pair of client and vehicle: doc/protocol.md#derived-keys. */
#ifndef FLEET_SIGNING_DERIVED_KEYS_H
#define FLEET_SIGNING_DERIVED_KEYS_H

#include "crypto/key.h"
#include "crypto/mac.h"

bool derive_keys(struct crypto *c, const unsigned char shared[SHARED_SIZE], unsigned char command[MAC_SIZE],
                 unsigned char info[MAC_SIZE]);

#endif
