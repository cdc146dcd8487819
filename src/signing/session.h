/* The client's half of a session with one domain of one vehicle: doc/protocol.md#session-handshake to
 * #recovery.
 *
 * A session is bytes in, bytes out: it never waits, sends or stores. Time and random bytes are arguments.
 *
 * Session info changes the session only after its tag was checked. The counter moves before a message uses
 * it. Two messages have the same counter only when the second replaces the first.
 *
 * The first session info pins the vehicle's public key. The session refuses another key with the reason
 * "vehicle_key_changed": make a new session then.
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
  bool stale;      /* refused because the session is out of date, and no usable session info came with it */
  bool final;      /* refused, and no other message may follow for the same command */
  uint32_t status; /* operation_status; no tag covers it */
};

struct session *session_new(struct key *k, const char *vin, enum domain domain, struct err *e);
void session_free(struct session *s);
size_t session_memory(const struct session *s); /* bytes allocated, without the allocator's own */

bool session_ready(const struct session *s); /* commands can be signed */
uint32_t session_counter(const struct session *s);
double session_age(const struct session *s, double now); /* s since the vehicle's last authentic message */
bool session_shared(const struct session *s);            /* another process draws counters with the key */
enum domain session_domain(const struct session *s);
struct bytes session_vin(const struct session *s);

enum due { DUE_NOTHING, DUE_BEGIN, DUE_CONFIRM };
/* Whether a handshake comes before the next command.
 *
 * When another process uses the same key, it may have used our next counter. The vehicle then refuses our
 * message as it would refuse a copy of it, and the outcome of a command that must not run twice is unknown.
 * A handshake before such a command costs less, unless the vehicle confirmed the session within TRUSTED_FOR.
 */
enum { TRUSTED_FOR = 10 /* s */ };
enum due session_due(const struct session *s, bool repeatable, double now);

/* Skips n counters, or none when fewer are left. */
void session_skip(struct session *s, uint32_t n);
/* Skips a random number of counters. A state from a store may be old, and several processes may load it: each
 * skips another number, so that it draws no counter that was used since. */
void session_skip_stride(struct session *s);

bool session_handshake(struct session *s, const struct message_random *d, double now, struct buf *out,
                       struct err *e);
bool session_accept(struct session *s, struct bytes in, double now, struct err *e);
bool session_sign(struct session *s, struct bytes payload, const struct sign_options *o,
                  const struct message_random *d, double now, struct buf *out, struct err *e);
/* Whether the vehicle proved in this epoch that it took no copy of the message with this uuid.
 *
 * A copy may still be on its way. A new message must therefore have the same counter, so that the vehicle
 * takes only one of them. In a new epoch no old copy is valid, and session_sign draws a new counter. */
bool session_signs_again(const struct session *s, struct bytes id);
bool session_sign_again(struct session *s, struct bytes id, struct bytes payload,
                        const struct sign_options *o, const struct message_random *d, double now,
                        struct buf *out, struct err *e);
bool session_open(struct session *s, struct bytes in, double now, struct answer *a, struct buf *payload,
                  struct err *e);

/* State for a later process: authenticated by the private key, which it does not hold. ahead: how many
 * counters after the last one the state leaves out, because this process may use them. */
bool session_export(const struct session *s, uint32_t ahead, double now, double wall, struct buf *out,
                    struct err *e);
/* False, and the session unchanged, when the state is damaged, foreign or of another key, VIN or domain. */
bool session_import(struct session *s, struct bytes in, double now, double wall);

#endif
