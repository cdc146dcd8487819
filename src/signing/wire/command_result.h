/* What an application's answer says about the command: doc/protocol.md#vehicle-answers. Pure.
 *
 * "Done" needs a positive statement. An empty answer is one if it comes from the security domain, or from
 * infotainment and encrypted: then no server between can have emptied it.
 */
#ifndef FLEET_SIGNING_COMMAND_RESULT_H
#define FLEET_SIGNING_COMMAND_RESULT_H

#include "base/buf.h"
#include "base/err.h"

struct answer_facts {
  enum domain domain;
  struct bytes payload;
  bool authenticated; /* it was encrypted */
  uint32_t status;    /* operation_status of the envelope, which no tag covers */
};

/* True: done. False: e holds the failure, with the vehicle's own words in reason. */
bool answer_read(const struct answer_facts *f, struct err *e);
/* Call it after answer_read returned false. True: the reason means that the wanted state was set before,
 * which strict makes a failure. Otherwise e gets the kind and the explanation of its reason. */
bool answer_unchanged(bool strict, struct err *e);
/* Whether the failure says that the session does not fit the vehicle. */
bool answer_is_stale(const struct err *e);

#endif
