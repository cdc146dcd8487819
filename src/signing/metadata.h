/* The facts that a signature covers beside the payload, as bytes: doc/protocol.md#metadata.
 *
 * Session and receiver both use the three functions metadata_request, _response and _session_info. Items have
 * their length and ascending tags, so that two sets of facts never have the same bytes.
 */
#ifndef FLEET_SIGNING_METADATA_H
#define FLEET_SIGNING_METADATA_H

#include "base/vin.h"
#include "base/buf.h"
#include "tables/rows.h"

enum { EPOCH_SIZE = 16 };

enum method { METHOD_GCM = 5, METHOD_HMAC = 8, METHOD_RESPONSE = 9 }; /* Signatures.SignatureType */

enum tag {
  TAG_SIGNATURE_TYPE,
  TAG_DOMAIN,
  TAG_PERSONALIZATION,
  TAG_EPOCH,
  TAG_EXPIRES_AT,
  TAG_COUNTER,
  TAG_CHALLENGE,
  TAG_FLAGS,
  TAG_REQUEST_HASH,
  TAG_FAULT,
  TAG_END = 255
};

struct metadata {
  unsigned char data[384];
  size_t size;
  int last;    /* tag of the last item, -1 at the start */
  bool failed; /* an item too long or out of order: the bytes must not be used */
};

void metadata_start(struct metadata *m);
void metadata_bytes(struct metadata *m, enum tag tag,
                    struct bytes value); /* value.data NULL: absent, skipped whole */
void metadata_u8(struct metadata *m, enum tag tag, uint32_t value);
void metadata_u32(struct metadata *m, enum tag tag, uint32_t value);
bool metadata_end(struct metadata *m, struct bytes *out); /* out is a view into m */

struct request_facts { /* doc/protocol.md#command-authentication */
  enum method method;
  uint32_t domain;
  struct bytes vin, epoch;
  uint32_t expires_at, counter, flags; /* flags 0: left out */
};
bool metadata_request(struct metadata *m, const struct request_facts *f, struct bytes *out);

struct response_facts { /* doc/protocol.md#encrypted-responses */
  uint32_t domain;
  struct bytes vin, request_hash;
  uint32_t counter, flags, fault;
};
bool metadata_response(struct metadata *m, const struct response_facts *f, struct bytes *out);

/* Names the request in an encrypted answer: its method and tag. Returns the size. */
enum { REQUEST_HASH_SIZE = 33 };
size_t request_hash(unsigned char hash[REQUEST_HASH_SIZE], uint32_t domain, enum method method,
                    struct bytes tag);

/* The challenge is the uuid of the request that the session info answers. */
bool metadata_session_info(struct metadata *m, struct bytes vin, struct bytes challenge, struct bytes *out);

#endif
