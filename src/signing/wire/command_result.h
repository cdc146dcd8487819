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
/* After answer_read was false. True: the reason says that the wanted state holds already; with strict that is
 * a failure. Else e gets the kind and the explanation of its reason. */
bool answer_unchanged(bool strict, struct err *e);
/* Whether the failure says that the session does not fit the vehicle. */
bool answer_is_stale(const struct err *e);

#endif
