/* Calendar dates, clock times and RFC 3339 text, in the proleptic Gregorian calendar. Seconds count from 1970
 * in UTC, and years are 0 to 9999, the range of RFC 3339.
 *
 * Functions of the C library read TZ and the locale, share static memory or are missing on some systems.
 * These need integer arithmetic only.
 */
#ifndef FLEET_BASE_CIVIL_H
#define FLEET_BASE_CIVIL_H

#include "base/buf.h"
#include "base/err.h"

#define CIVIL_MIN (-62167219200LL) /* 0000-01-01T00:00:00Z */
#define CIVIL_MAX 253402300799LL   /* 9999-12-31T23:59:59Z */
#define CIVIL_DAY 86400

struct civil {
  int year, month, day, hour, minute, second; /* month and day from 1 */
};

int64_t civil_days(int year, int month, int day); /* days since 1970-01-01; day may lie outside the month */
void civil_date(int64_t days, struct civil *out); /* sets year, month, day */
int civil_weekday(int64_t days);                  /* Sunday = 0 */
int civil_month_length(int year, int month);
bool civil_valid(const struct civil *c); /* such a date and clock time can be written; 24:00 and :60 cannot */
int64_t civil_seconds(const struct civil *c); /* the fields read as UTC */
void civil_from_seconds(int64_t utc, struct civil *out);

/* "2026-03-29": four, two and two digits, a date that exists. */
bool civil_parse_date(struct civil *out, struct bytes text, struct err *e);
/* RFC 3339 with offset. *fraction is 0 to just below 1; a leap second counts as the second before it. */
bool civil_parse_time(int64_t *utc, double *fraction, struct bytes text, struct err *e);
void civil_format_date(struct buf *out, int64_t days);
void civil_format_time(struct buf *out, int64_t utc,
                       int offset); /* RFC 3339; offset in seconds, cut to minutes; 0: +00:00 */

#endif
