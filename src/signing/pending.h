/* Messages that were sent and whose answers may still come. */
#ifndef FLEET_SIGNING_PENDING_H
#define FLEET_SIGNING_PENDING_H

#include "crypto/aead.h"
#include "crypto/mac.h"
#include "signing/epoch.h"
#include "signing/window.h"
#include "signing/wire/message.h"

enum { PENDING_KEPT = 32, PENDING_LIFE = 60 /* s */ };

struct message_random { /* random bytes for one message */
  unsigned char address[ADDRESS_SIZE], uuid[UUID_SIZE], nonce[NONCE_SIZE];
};

struct pending {
  unsigned char uuid[UUID_SIZE], address[ADDRESS_SIZE];
  unsigned char hash[REQUEST_HASH_SIZE];
  unsigned char hash_size; /* 0: a handshake */
  bool wants_encryption;   /* it asked for an encrypted answer */
  bool informed;           /* its session info was taken */
  bool not_taken;          /* session info proved that the vehicle took no copy of it */
  struct message_id message;
  struct window answer_counters;
  double sent;
};

struct pending_list {
  struct pending *list; /* owned, oldest first */
  size_t count, capacity;
};

struct pending *pending_add(struct pending_list *s, const struct message_random *d, double now,
                            struct err *e);
/* The message that this one answers: the routing address must match, and the uuid if the answer has one. The
 * security domain mostly sends none. */
struct pending *pending_find(struct pending_list *s, enum domain domain, const struct message *m,
                             struct err *e);

const struct pending *pending_of(const struct pending_list *s, struct bytes uuid); /* or NULL */

#endif
