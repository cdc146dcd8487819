/* The vehicle's epoch, counter and clock as its session info gave them: doc/protocol.md#counters-and-time and
 * #recovery. Pure: time is an argument.
 *
 * The caller checks the tag of session info first.
 */
#ifndef FLEET_SIGNING_EPOCH_H
#define FLEET_SIGNING_EPOCH_H

#include "signing/metadata.h"
#include "signing/wire/message.h"

enum { EPOCH_SECONDS = 1 << 30 };

struct epoch_state { /* of the vehicle's last authentic session info */
  bool known;
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;    /* of the last command; moves before use */
  uint32_t clock_time; /* of the latest session info of this epoch */
  double epoch_start;  /* local time at which the epoch began */
  double confirmed;    /* local time of the vehicle's last authentic message */
  bool shared;         /* another process draws counters with this key */
  bool has_past;       /* the epoch before this one is known: its session infos are refused as old */
  unsigned char past_epoch[EPOCH_SIZE];
  uint32_t past_clock;
};

bool epoch_is(const unsigned char own[EPOCH_SIZE], struct bytes epoch);

/* The state after this session info; *taken false: it must be discarded, and the state is the same. */
struct epoch_state epoch_update(struct epoch_state s, const struct session_info *i, double now, bool *taken);
/* expires_at of a command: at least 1, because 0 means for ever, and at most the longest epoch. */
uint32_t epoch_expiry(const struct epoch_state *s, double now, double lifetime);

struct message_id { /* the vehicle takes one message with each */
  unsigned char epoch[EPOCH_SIZE];
  uint32_t counter;
};

/* Whether the session info that came with a fault proves that the vehicle took no copy of the message.
 *
 * A network may deliver a message twice, and the fault may answer the second copy. In the message's epoch the
 * vehicle's counter must be below that of the message. Another epoch must be older than the message, which
 * was signed so many seconds ago (passed). */
bool never_taken(const struct message_id *m, const struct session_info *i, double passed);

#endif
