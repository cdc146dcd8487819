/* Half-open spans on a line, and a sweep that lists which spans cover each piece of it.
 *
 * The check uses it for the minutes of a week and the days of a year: a piece without a span is a gap, one
 * with two is an overlap. Starts are sorted and open ends are in a heap, so n spans cost n log n.
 */
#ifndef FLEET_TARIFF_INTERVALS_H
#define FLEET_TARIFF_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
  uint32_t from, to; /* from included, to excluded */
  uint32_t id;
};

void spans_sort(struct span *spans, size_t count); /* by start, then end, then id */

struct cover {
  const struct span *spans; /* sorted; the caller's */
  size_t count, next;
  struct span *heap; /* owned; the spans that cover the current place, next end first */
  size_t heap_count;
  uint32_t at, length;
};

struct piece {
  uint32_t from, to;
  const struct span *covering; /* valid until the next call */
  size_t count;
};

bool cover_start(struct cover *c, const struct span *sorted, size_t count,
                 uint32_t length); /* false: out of memory */
bool cover_next(struct cover *c,
                struct piece *out); /* pieces follow each other from 0 to length; false: done */
void cover_free(struct cover *c);

#endif
