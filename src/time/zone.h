/* Local time by the IANA time zone database: wall time of an instant, and the reverse.
 *
 * Energy prices and energy history use local time, and two days of the year have 23 and 25 hours. The C
 * library offers zones only through TZ and tzset, which change the whole process. Therefore the compiled zone
 * files are read here: RFC 8536, version 2 and later, with the rule in their footer. Times have the range of
 * calendar.h.
 */
#ifndef FLEET_TARIFF_ZONE_H
#define FLEET_TARIFF_ZONE_H

#include "time/calendar.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

struct zone;

struct zone_time {
  struct civil civil;
  int offset; /* seconds east of Greenwich */
  bool is_dst;
  char abbreviation[16]; /* "CEST", "+0530" */
};

/* directory NULL is ZONE_DIRECTORY. The name is checked: letters, digits, _ + - and single slashes. */
bool zone_open(struct zone **z, const char *directory, const char *name, struct err *e);
bool zone_parse(struct zone **z, struct bytes file, struct err *e);
void zone_free(struct zone *z); /* NULL is allowed */

void zone_local(const struct zone *z, int64_t utc, struct zone_time *out);
/* The first instant after utc at which the zone changes its offset, name or daylight saving; false: never
 * again. */
bool zone_next(const struct zone *z, int64_t utc, int64_t *change);

/* A wall time happens once; when the clock is put forward some never happen, when it is put back some happen
 * twice. */
enum zone_fold { ZONE_ONCE, ZONE_SKIPPED, ZONE_REPEATED };
struct zone_instants {
  int64_t
      utc[2]; /* [0] by the offset before the change, [1] by the one after it; both the same for ZONE_ONCE */
  int64_t change; /* the instant of the change, for the other two */
};
/* Repeated: [0] is the first passage. Skipped 02:30: [0] is what the clock then shows as 03:30, [1] as
 * 01:30. */
enum zone_fold zone_utc(const struct zone *z, const struct civil *local, struct zone_instants *out);
/* The first instant of a local day; a day that was skipped as a whole begins when the next one does. */
int64_t zone_day(const struct zone *z, int64_t days);

#endif
