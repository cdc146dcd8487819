#include "signing/fault.h"

#include <stddef.h>

enum outcome fault_outcome(const struct fault *row, enum evidence evidence) {
  if (!row || evidence == EVIDENCE_AGAINST) return OUTCOME_UNKNOWN;
  if (row->resync) return evidence == EVIDENCE_PROOF ? OUTCOME_REFUSED : OUTCOME_UNKNOWN;
  return row->outcome;
}

const struct fault *fault_row(uint32_t number) {
  for (const struct fault *f = fault_rows; f->name; f++)
    if ((uint32_t)f->number == number) return f;
  return NULL;
}

bool fault_is_final(uint32_t number) {
  const struct fault *row = fault_row(number);
  return number && (!row || row->final);
}

bool err_set_fault(struct err *e, uint32_t number, enum evidence evidence) {
  const struct fault *row = fault_row(number);
  enum outcome outcome = fault_outcome(row, evidence);
  bool doubt = row && outcome == OUTCOME_UNKNOWN && (row->resync || evidence == EVIDENCE_AGAINST);
  err_set(e, row ? row->kind : KIND_protocol, "the vehicle answered with fault %u (%s)%s%s%s", number,
          row ? row->name : "unknown", row && row->doc ? ": " : "", row && row->doc ? row->doc : "",
          doubt ? " It may have carried out another copy of the message." : "");
  e->fault = (int)number;
  e->outcome = outcome;
  return false;
}
