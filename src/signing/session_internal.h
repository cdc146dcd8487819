/* What the files of a session share: its life (session.c), its messages (session_sign.c), their answers
 * (session_answer.c), its record for the store (session_record.c). */
#ifndef FLEET_SIGNING_SESSION_INTERNAL_H
#define FLEET_SIGNING_SESSION_INTERNAL_H

#include "signing/session.h"

struct session_secrets { /* of one vehicle key */
  unsigned char vehicle[PUBLIC_SIZE];
  unsigned char shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
};

struct session {
  struct crypto *crypto;
  struct key *key;
  char vin[VIN_SIZE + 1];
  enum domain domain;
  bool pinned; /* secrets are set */
  bool seals;  /* the vehicle has encrypted an answer: it encrypts all that it is asked to */
  struct session_secrets secrets;
  uint64_t owner; /* of the keyed context */
  struct epoch_state state;
  struct pending_list sent;
};

bool session_derive(const struct session *s, struct bytes public, struct session_secrets *k, struct err *e);
void session_address(const struct session *s, const struct message_random *d, struct message *m);
/* Takes the session info in a message, or says in e why not. Nothing changes before its tag was found right.
 */
bool session_absorb(struct session *s, struct pending *r, const struct message *m, double now,
                    struct arena *a, struct err *e);

#endif
