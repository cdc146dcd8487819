/* Counters of many processes, kept under one key as text: a line "name total" for each.
 *
 * Additions happen while the record is locked, so that none is lost and no two processes get the same total.
 * Amounts are whole numbers, whose sums are exact.
 */
#ifndef FLEET_STORE_COUNTERS_H
#define FLEET_STORE_COUNTERS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

enum { COUNTER_NAME_LIMIT = 128 };
#define COUNTER_LIMIT INT64_C(9000000000000000) /* a double counts exactly up to there */

struct counter {
  struct bytes name;
  int64_t amount, total;
};

/* Takes the next counter off the text into name and total. False at its end, or with e set if the text holds
 * no counters. */
bool counters_next(struct bytes *text, struct counter *c, struct err *e);

/* Reads a text into list, which has room for its lines: each number is an amount. */
bool counters_read(struct bytes text, struct counter *list, size_t *count, struct err *e);
/* Writes the totals. */
void counters_write(struct buf *out, const struct counter *list, size_t count);

/* Writes the text with the amounts of list added, each in its total. Names in list differ. False: e says
 * why. */
bool counters_add(struct buf *out, struct bytes text, struct counter *list, size_t count, struct err *e);

#endif
