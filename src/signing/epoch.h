/* What a vehicle said about its epoch, counter and clock, and what follows: doc/protocol.md#counters-and-time
 * and #recovery. Pure: time is an argument.
 *
 * A vehicle's word is believed only after its tag was checked; that comes before anything here is called.
 */
#ifndef FLEET_SIGNING_EPOCH_H
#define FLEET_SIGNING_EPOCH_H

#include "signing/metadata.h"
#include "signing/wire/message.h"

enum { EPOCH_SECONDS = 1 << 30 };

struct epoch_state { /* what the vehicle last said, authenticated */
  bool known;
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;    /* of the last command; moves before use */
  uint32_t clock_time; /* of the latest session info of this epoch */
  double epoch_start;  /* local time at which the epoch began */
  double confirmed;    /* local time of the vehicle's last authenticated word */
  bool shared;         /* another process draws counters with this key */
  bool has_past;       /* the epoch before this one, so that its old session infos are known as old */
  unsigned char past_epoch[EPOCH_SIZE];
  uint32_t past_clock;
};

bool epoch_is(const unsigned char own[EPOCH_SIZE], struct bytes epoch);

/* The state after this session info; *taken false: it must be discarded, and the state is the same. */
struct epoch_state epoch_update(struct epoch_state s, const struct session_info *i, double now, bool *taken);
/* expires_at of a command; never 0, which would mean for ever, nor beyond the longest epoch. */
uint32_t epoch_expiry(const struct epoch_state *s, double now, double lifetime);

struct message_id { /* what makes a command's message unlike any other for the vehicle */
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;
};

/* Whether the authenticated session info that came with a fault proves that the vehicle took no copy of the
 * message, which was signed some seconds ago: networks double messages, and the fault may be the second
 * copy's. Within an epoch the vehicle's counter must not have come to the message's; another epoch must have
 * started before the message was signed. */
bool never_taken(const struct message_id *m, const struct session_info *i, double passed);

#endif
