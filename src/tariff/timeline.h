/* Prices along time: a moment, the segments of a window, its cheapest hours.
 *
 * A tariff speaks local wall time. A position is UTC seconds, placed in the tariff through a zone, or minutes
 * since 1970 of a local calendar that knows no clock change. It is not published what the service does on the
 * two days of a change (doc/protocol.md#tariff-meaning); here an hour that comes twice has its price twice
 * and a skipped one never comes.
 */
#ifndef FLEET_TARIFF_TIMELINE_H
#define FLEET_TARIFF_TIMELINE_H

#include "tariff/tariff.h"
#include "time/zone.h"

struct timeline {
  const struct tariff *tariff; /* valid, so that buying has a price at every position */
  const struct zone *zone;     /* NULL: positions are minutes of the local calendar */
};

struct segment {
  int64_t from, to;
  bool priced[TARIFF_SIDES];
  struct tariff_price side[TARIFF_SIDES];
};

struct segments {
  struct segment *segments;
  size_t segment_count, segment_room;
};

/* The prices of a position; to is where another answer may begin. */
void timeline_at(const struct timeline *line, int64_t position, struct segment *out);

/* These append to an empty out; false: out of memory. Segments follow each other without a gap, neighbours
 * differ. */
bool timeline_segments(const struct timeline *line, int64_t from, int64_t to, struct segments *out);
/* The cheapest positions of all, so many as are wanted or there are, in the order of time; of equal prices
 * the earliest. */
bool cheapest_parts(const struct segments *all, int64_t wanted, struct segments *out);
/* The same in one stretch. */
bool cheapest_stretch(const struct segments *all, int64_t wanted, struct segments *out);

#endif
