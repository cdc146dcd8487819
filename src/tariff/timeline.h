/* Prices along time: of a moment, of a window, and its cheapest hours.
 *
 * A tariff uses local wall time. A position is UTC seconds with a zone, or minutes since 1970 of a local
 * calendar without clock changes. What the service does at a clock change is not documented
 * (doc/protocol.md#tariff-meaning): here a repeated hour has its price twice, and a skipped hour is left out.
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

/* The prices of a position; to: until then they hold. */
void timeline_at(const struct timeline *line, int64_t position, struct segment *out);

/* These functions fill an empty out; false: out of memory. Segments have no gaps between them, and neighbours
 * differ. */
bool timeline_segments(const struct timeline *line, int64_t from, int64_t to, struct segments *out);
/* The cheapest parts of all with the wanted total length, or all if it is shorter, in the order of time. Of
 * equal prices the earlier comes first. */
bool cheapest_parts(const struct segments *all, int64_t wanted, struct segments *out);
/* The same in one stretch. */
bool cheapest_stretch(const struct segments *all, int64_t wanted, struct segments *out);

#endif
