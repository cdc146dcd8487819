/* Any bytes as a time or a date: what is read is in range, and is read again from what is written. */
#include "time/calendar.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact) {
  if (!fact) abort();
}

static void read_again(int64_t utc) {
  struct buf text = BUF_INIT;
  int64_t again;
  double fraction;
  civil_format_time(&text, utc, 0);
  require(civil_parse_time(&again, &fraction, buf_bytes(&text), NULL) && again == utc && fraction == 0);
  buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes text = {data, size};
  struct civil c;
  int64_t utc;
  double fraction;
  if (civil_parse_time(&utc, &fraction, text, NULL)) {
    require(utc >= CIVIL_MIN && utc <= CIVIL_MAX && fraction >= 0 && fraction < 1);
    read_again(utc);
  }
  if (civil_parse_date(&c, text, NULL)) {
    struct civil again = {0};
    civil_date(civil_days(c.year, c.month, c.day), &again);
    require(again.year == c.year && again.month == c.month && again.day == c.day);
  }
  return 0;
}
