/* What a fault of the signing protocol says about the command: doc/protocol.md#protocol-faults. Pure. */
#ifndef FLEET_SIGNING_FAULT_H
#define FLEET_SIGNING_FAULT_H

#include "base/err.h"
#include "tables/rows.h"

#include <stdint.h>

enum evidence { /* whether the vehicle took a copy of the message, by authenticated session info */
                EVIDENCE_NONE,    /* none came with the fault */
                EVIDENCE_AGAINST, /* it came, and a copy may have been taken */
                EVIDENCE_PROOF    /* it came, and proves that no copy was taken */
};

const struct fault *fault_row(uint32_t number); /* NULL: unknown to us */
enum outcome fault_outcome(const struct fault *row, enum evidence evidence);
bool fault_is_final(uint32_t number); /* no other message may follow for the same command */
bool err_set_fault(struct err *e, uint32_t number, enum evidence evidence); /* false */

#endif
