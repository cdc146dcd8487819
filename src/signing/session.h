/* The client's half of a session with one domain of one vehicle: doc/protocol.md#session-handshake to
 * #recovery.
 *
 * A session is bytes in, bytes out: it never waits, sends or stores. Time and random bytes are arguments.
 * What a vehicle says is believed only after its tag was checked, and a command's counter moves
 * before it is used: two messages share one only where the second takes the place of the first. The vehicle's
 * public key is pinned by the first session info; another key later is reported (reason
 * "vehicle_key_changed") and never taken: make a new session then.
 */
#ifndef FLEET_SIGNING_SESSION_H
#define FLEET_SIGNING_SESSION_H

#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/key.h"
#include "crypto/mac.h"
#include "signing/derived_keys.h"
#include "signing/epoch.h"
#include "signing/fault.h"
#include "signing/metadata.h"
#include "signing/pending.h"
#include "signing/wire/message.h"

enum { INFO_LATENCY = 10 /* s */, SESSION_LONG_AGO = 1000000000 /* s */ };

struct session;

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
  bool stale;      /* refused for what session info would mend, and none that could be taken came with it */
  bool final;      /* refused, and no other message may follow for the same command */
  uint32_t status; /* operation_status; no tag covers it */
};

struct session *session_new(struct key *k, const char *vin, enum domain domain, struct err *e);
void session_free(struct session *s);
size_t session_memory(const struct session *s); /* bytes allocated, without the allocator's own */

bool session_ready(const struct session *s); /* commands can be signed */
uint32_t session_counter(const struct session *s);
double session_age(const struct session *s, double now); /* s since the vehicle confirmed it, authenticated */
bool session_shared(const struct session *s); /* another process was seen to draw counters with the key */
enum domain session_domain(const struct session *s);
struct bytes session_vin(const struct session *s);

enum due { DUE_NOTHING, DUE_BEGIN, DUE_CONFIRM };
/* Whether a handshake comes before the next command. A counter that another process with this key has used
 * meanwhile looks like a copy of our own message, and what must not run twice then ends in doubt: where
 * others were seen and the vehicle's last word is older than TRUSTED_FOR, one more exchange beforehand costs
 * less. */
enum { TRUSTED_FOR = 10 /* s */ };
enum due session_due(const struct session *s, bool repeatable, double now);

/* Passes over n counters, as far as there are so many. */
void session_skip(struct session *s, uint32_t n);
/* Passes over a random number of counters. A state from a store may be an old copy, and another process may
 * use the same copy: each that loads it skips another number, so that it draws no counter used since. */
void session_skip_stride(struct session *s);

bool session_handshake(struct session *s, const struct message_random *d, double now, struct buf *out,
                       struct err *e);
bool session_accept(struct session *s, struct bytes in, double now, struct err *e);
bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct message_random *d, double now, struct buf *out, struct err *e);
/* Whether the vehicle proved in this epoch that it had taken no copy of the message with this uuid. A copy
 * may still be under way, so that what is signed in its place must carry the same counter: the vehicle takes
 * one of both at most. In another epoch no copy is taken any more, and session_sign draws a new counter. */
bool session_signs_again(const struct session *s, struct bytes id);
bool session_sign_again(struct session *s, struct bytes id, struct bytes payload,
                        const struct sign_options *o, const struct message_random *d, double now,
                        struct buf *out, struct err *e);
bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e);

/* State for a later process: without private key, authenticated by it. ahead: counters that are reserved
 * beyond the last. */
bool session_export(const struct session *s, uint32_t ahead, double now, double wall, struct buf *out,
                    struct err *e);
/* False, and the session unchanged, when the state is damaged, foreign or of another key, VIN or domain. */
bool session_import(struct session *s, struct bytes in, double now, double wall);

#endif
