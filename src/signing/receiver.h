/* The vehicle's half: checks a message in the order of doc/protocol.md#vehicle-side and answers it.
 *
 * The simulator and the property tests use it. receiver_open reads a message and decides whether its command
 * may run. The caller carries out the command, and receiver_reply writes the answer. Each domain has one
 * epoch, clock and key pair; each enrolled key has its counter and window.
 */
#ifndef FLEET_SIGNING_RECEIVER_H
#define FLEET_SIGNING_RECEIVER_H

#include "signing/role.h"
#include "signing/session.h"

/* ---- decisions: pure ---- */

struct verdict {
  uint32_t fault; /* 0: go on */
  bool info;      /* attach session info to the answer */
};

/* Steps 4 to 9, before anything is computed. */
struct verdict admit(const struct message *m, uint32_t domain, struct bytes epoch, uint32_t clock,
                     uint32_t highest);

/* ---- a receiver ---- */

struct receiver;

struct enrolled {
  unsigned char public[PUBLIC_SIZE];
  enum role role;
};

struct arrival {
  struct message message; /* views into the arena given to receiver_open */
  struct verdict verdict;
  bool handshake;
  bool authentic;              /* steps 1 to 11 passed: sent by an enrolled key, unchanged, not a copy */
  struct enrolled_key *signer; /* NULL: unknown; not valid after receiver_enroll */
  unsigned char shared[SHARED_SIZE]; /* with the signer, for the answer; arrival_end wipes it */
  unsigned char hash[REQUEST_HASH_SIZE];
  size_t hash_size;
  uint32_t answers; /* counter of the last answer */
};

struct receiver *receiver_new(struct key *k, const char *vin, enum domain domain, struct err *e);
void receiver_free(struct receiver *r);
/* Keys that stay enrolled keep their counters. */
bool receiver_enroll(struct receiver *r, const struct enrolled *keys, size_t count, struct err *e);

/* A new epoch is due at the start, after the longest epoch, and when a counter has reached its end. */
bool receiver_epoch_due(const struct receiver *r, double now);
void receiver_begin_epoch(struct receiver *r, const unsigned char epoch[EPOCH_SIZE], double now);
/* Sets the clock and the window of each key, for a simulated vehicle that ran before. */
void receiver_restore(struct receiver *r, uint32_t clock, double now, struct window w);

/* Fills a, also for a message that is refused: see its verdict. plain receives the payload of an accepted
 * command. False only when memory ran out. */
bool receiver_open(struct receiver *r, struct bytes in, double now, struct arena *arena, struct arrival *a,
                   struct buf *plain, struct err *e);
/* Writes the answer to a handshake, a fault, or the application's answer (answer.data NULL: the domain's
 * plain OK). */
bool receiver_reply(struct receiver *r, struct arrival *a, struct bytes answer,
                    const unsigned char nonce[NONCE_SIZE], double now, struct buf *out, struct err *e);
void arrival_end(struct arrival *a);
bool arrival_wants_nonce(const struct arrival *a); /* its answer will be encrypted */

#endif
