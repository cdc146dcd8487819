/* Values sealed with the owner's key (AES-256-GCM): a reader of the store without the key learns nothing.
 *
 * The record's key is the associated data: a sealed value cannot be moved to another record. Eight bytes
 * identify the key, so that a wrong key is distinguished from damage.
 */
#ifndef FLEET_STORE_SEAL_H
#define FLEET_STORE_SEAL_H

#include "crypto/context.h"

enum { SEAL_KEY_SIZE = 32, SEAL_ID_SIZE = 8 };

struct seal_key {
  unsigned char bytes[SEAL_KEY_SIZE];
  unsigned char id[SEAL_ID_SIZE];
};

/* text: 64 hex digits or 43 characters of base64url; or "@" and the name of a file with such text, which only
 * the owner may read. insecure_mode: other users may read it too. */
bool seal_key_read(struct seal_key *k, struct crypto *c, struct bytes text, bool insecure_mode,
                   struct err *e);

bool is_sealed(struct bytes value);
extern const char seal_mark[]; /* how a sealed value begins */
bool seal(const struct seal_key *k, struct crypto *c, struct bytes name, struct bytes plain, struct buf *out,
          struct err *e);
bool unseal(const struct seal_key *k, struct crypto *c, struct bytes name, struct bytes sealed,
            struct buf *out, struct err *e);

#endif
