/* What an application's answer says about the command: doc/protocol.md#vehicle-answers. Pure.
 *
 * Done needs a positive statement. An empty answer is one where the protocol makes it one: from the security
 * domain, and from infotainment when it was encrypted, so that no intermediary can have emptied it.
 */
#ifndef FLEET_SIGNING_ANSWER_H
#define FLEET_SIGNING_ANSWER_H

#include "base/buf.h"
#include "base/err.h"

struct answer_facts {
  enum domain domain;
  struct bytes payload;
  bool authenticated; /* it was encrypted */
  uint32_t status;    /* operation_status of the envelope, which no tag covers */
};

/* True: done. False: e says what else, with the vehicle's own words in reason. */
bool answer_read(const struct answer_facts *f, struct err *e);

#endif
