/* Any bytes as a time zone file: whatever is accepted must answer every question without harm, and
 * consistently. */
#include "time/zone.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void ask(const struct zone *z, int64_t utc) {
  struct zone_time t;
  struct zone_instants at;
  int64_t change;
  zone_local(z, utc, &t);
  require(civil_seconds(&t.civil) == utc + t.offset);
  if (zone_next(z, utc, &change)) require(change > utc);
  if (!civil_valid(&t.civil)) return;
  zone_utc(z, &t.civil, &at);
  zone_day(z, civil_days(t.civil.year, t.civil.month, t.civil.day));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int64_t instants[] = {CIVIL_MIN,  -2208988800, 0,        1774746000,
                                     1792890000, 4102444800,  CIVIL_MAX};
  struct zone *z;
  struct err e;
  err_clear(&e);
  if (!zone_parse(&z, (struct bytes){data, size}, &e)) {
    require(e.kind != KIND_none && e.message[0]);
    return 0;
  }
  for (size_t i = 0; i < sizeof instants / sizeof *instants; i++) ask(z, instants[i]);
  zone_free(z);
  return 0;
}
