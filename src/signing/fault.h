/* What a fault of the signing protocol says about the command: doc/protocol.md#protocol-faults. Pure. */
#ifndef FLEET_SIGNING_FAULT_H
#define FLEET_SIGNING_FAULT_H

#include "base/err.h"
#include "tables/rows.h"

#include <stdint.h>

enum evidence { /* of authenticated session info that came with a fault */
                EVIDENCE_NONE,
                EVIDENCE_AGAINST, /* it came and proves nothing: a copy may have been taken */
                EVIDENCE_PROOF    /* it proves that no copy was taken */
};

const struct fault *fault_row(uint32_t number); /* NULL: unknown to us */
enum outcome fault_outcome(const struct fault *row, enum evidence evidence);
bool fault_is_final(uint32_t number); /* no other message may follow for the same command */
bool fault_say(uint32_t number, enum evidence evidence, struct err *e); /* fills e; false */

#endif
