/* The client's half of a session with one domain of one vehicle. Wire protocol sections 4 to 10.
 *
 * A session is bytes in, bytes out: it never waits, sends or stores. Time and random bytes are arguments
 * (rule R5). What a vehicle says is believed only after its tag was checked, and a command's counter moves
 * before it is used, so that no two messages ever share one. The vehicle's public key is pinned by the first
 * session info; another key later is reported (reason "vehicle_key_changed") and never taken: make a new
 * session then.
 */
#ifndef FLEET_SIGNING_SESSION_H
#define FLEET_SIGNING_SESSION_H

#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/key.h"
#include "crypto/mac.h"
#include "signing/wire/message.h"
#include "signing/metadata.h"

enum {
  REQUESTS_KEPT = 32,
  REQUEST_LIFE = 60 /* s */,
  INFO_LATENCY = 10 /* s, section 1 */,
  EPOCH_SECONDS = 1 << 30
};

/* ---- decisions: pure ---- */

struct session_state { /* what the vehicle last said, authenticated */
  bool known;
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;    /* of the last command; moves before use */
  uint32_t clock_time; /* of the latest session info of this epoch */
  double zero;         /* local time at which the epoch began */
  double confirmed;    /* local time of the vehicle's last authenticated word */
  bool shared;         /* somebody else draws counters with this key */
  bool has_past;       /* the epoch before this one, so that its old session infos are known as old */
  unsigned char past_epoch[EPOCH_SIZE];
  uint32_t past_clock;
};

/* The must-discard and must-update rules of section 10. */
struct session_state session_update(struct session_state s, const struct session_info *i, double now,
                                    bool *taken);
/* expires_at of a command; never 0, which would mean for ever, nor beyond the longest epoch. */
uint32_t session_expiry(const struct session_state *s, double now, double lifetime);

struct stamp { /* what makes a command's message unlike any other for the vehicle */
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;
};

/* Whether the authenticated session info that came with a fault proves that the vehicle took no copy of the
 * message, which was signed some seconds ago: networks double messages, and the fault may be the second
 * copy's. Within an epoch the vehicle's counter must not have come to the message's; another epoch must have
 * begun before the message was signed. */
bool never_taken(const struct stamp *m, const struct session_info *i, double passed);
enum evidence { /* of authenticated session info that came with a fault */
                EVIDENCE_NONE,
                EVIDENCE_AGAINST, /* it came and proves nothing: a copy may have been taken */
                EVIDENCE_PROOF    /* it proves that no copy was taken */
};
/* What a fault says about the command: doc/protocol.md#recovery. */
enum outcome fault_outcome(const struct fault *row, enum evidence evidence);
const struct fault *fault_row(uint32_t number); /* NULL: unknown to us */
bool fault_is_final(uint32_t number);           /* no other message may follow for the same command */

/* ---- a session ---- */

struct session;

struct draws { /* random bytes for one message */
  unsigned char address[ADDRESS_SIZE], uuid[UUID_SIZE], nonce[NONCE_SIZE];
};

struct sign_options {
  enum method method; /* HMAC or GCM */
  double lifetime;    /* s */
  uint32_t flags;
};

struct answer {
  unsigned char id[UUID_SIZE]; /* uuid of the request it answers */
  bool matched;                /* id is set */
  bool authenticated;          /* it was encrypted; firmware before 2024.38 answers in clear text */
  bool resynced;               /* authenticated session info came with it and was taken */
  uint32_t status;             /* operation_status; no tag covers it */
};

struct session *session_new(struct key *k, const char *vin, enum domain domain, struct err *e);
void session_free(struct session *s);
size_t session_memory(const struct session *s); /* bytes held, allocator's own excluded */

bool session_ready(const struct session *s); /* commands can be signed */
uint32_t session_counter(const struct session *s);
double session_age(const struct session *s, double now); /* s since the vehicle confirmed it, authenticated */
bool session_shared(const struct session *s); /* somebody else was seen to draw counters with the key */

/* Passes over n counters, as far as there are so many. */
void session_skip(struct session *s, uint32_t n);

bool session_handshake(struct session *s, const struct draws *d, double now, struct buf *out, struct err *e);
bool session_accept(struct session *s, struct bytes in, double now, struct err *e);
bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct draws *d, double now, struct buf *out, struct err *e);
bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e);

/* State for a later process: without private key, authenticated by it. ahead: counters that are reserved
 * beyond the last. */
bool session_export(const struct session *s, uint32_t ahead, double now, double wall, struct buf *out,
                    struct err *e);
/* False, and the session unchanged, when the state is damaged, foreign or of another key, VIN or domain. */
bool session_import(struct session *s, struct bytes in, double now, double wall);

/* Both ends of section 4: K to the keys of commands and session infos. */
bool session_keys(struct crypto *c, const unsigned char shared[SHARED_SIZE], unsigned char command[MAC_SIZE],
                  unsigned char info[MAC_SIZE]);
/* Section 8: what an encrypted answer says it answers. Returns its size. */
size_t request_hash(unsigned char hash[1 + MAC_SIZE], uint32_t domain, enum method method, struct bytes tag);

#endif
