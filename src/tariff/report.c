/* What a check found, as it grows. */
#include "tariff/model.h"

#include <stdlib.h>

struct tariff_fault *add_fault(struct tariff_report *r, enum tariff_kind kind, enum tariff_side side) {
  struct tariff_fault *fault = ADD(r, faults, fault);
  if (!fault) return NULL;
  fault->kind = kind;
  fault->side = side;
  return fault;
}

void tariff_report_free(struct tariff_report *r) {
  free(r->faults), free(r->names), free(r->spans);
  *r = (struct tariff_report){0};
}
