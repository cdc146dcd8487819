/* The routable envelope and the session info, from bytes to plain structs and back:
 * doc/protocol.md#message-envelope.
 *
 * The bytes come from an untrusted network. Reading checks their form (sizes, nesting, memory) and no
 * signature. Sessions and receivers use these structs instead of the generated ones.
 */
#ifndef FLEET_SIGNING_MESSAGE_H
#define FLEET_SIGNING_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/arena.h"

enum { ADDRESS_SIZE = 16, UUID_SIZE = 16, MESSAGE_LIMIT = 100000 };

enum { FLAG_USER_COMMAND = 1, FLAG_ENCRYPT_RESPONSE = 2 }; /* masks; the protocol numbers the bits */

enum { STATUS_OK, STATUS_WAIT, STATUS_ERROR }; /* OperationStatus_E */

enum fault_number { /* the faults that code names; fault_rows has all */
                    FAULT_NONE = 0,
                    FAULT_BUSY = 1,
                    FAULT_UNKNOWN_KEY = 3,
                    FAULT_SIGNATURE = 5,
                    FAULT_COUNTER = 6,
                    FAULT_PRIVILEGES = 7,
                    FAULT_DOMAIN = 8,
                    FAULT_COMMAND = 9,
                    FAULT_DECODING = 10,
                    FAULT_PARAMETER = 13,
                    FAULT_EPOCH = 15,
                    FAULT_IV_LENGTH = 16,
                    FAULT_EXPIRED = 17,
                    FAULT_LIFETIME = 20,
                    FAULT_SERVICE_KEY = 22
};

enum payload { PAYLOAD_NONE, PAYLOAD_BYTES, PAYLOAD_HANDSHAKE, PAYLOAD_SESSION_INFO };

enum signature { /* SignatureData.sig_type by field number */
                 SIGNED_NOT = 0,
                 SIGNED_GCM = 5,
                 SIGNED_SESSION_INFO = 6,
                 SIGNED_HMAC = 8,
                 SIGNED_RESPONSE = 9
};

/* Views point into what message_read was given or into its arena. A view whose data is NULL is absent. */
struct message {
  uint32_t to_domain, from_domain; /* 0: absent, or broadcast, which is not accepted */
  struct bytes to_address, from_address;
  enum payload kind;
  struct bytes payload;  /* of a handshake: the sender's public key */
  bool signed_by_anyone; /* signature_data is present, with any content */
  enum signature signature;
  struct bytes signer, epoch, nonce, tag;
  uint32_t counter, expires_at;
  uint32_t status, fault;
  struct bytes uuid, request_uuid;
  uint32_t flags;
};

bool message_read(struct message *m, struct bytes in, struct arena *a, struct err *e);
bool message_write(const struct message *m, struct buf *out);

struct session_info {
  uint32_t counter, clock_time, status; /* status 1: the client's key is not on the vehicle */
  struct bytes public, epoch;
};

enum { INFO_OK, INFO_KEY_NOT_PAIRED };

bool session_info_read(struct session_info *i, struct bytes in, struct arena *a, struct err *e);
bool session_info_write(const struct session_info *i, struct buf *out);

#endif
