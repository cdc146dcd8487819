#include "time/calendar.h"

#include <stdlib.h>
#include <string.h>

static bool leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int civil_month_length(int year, int month) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && leap(year) ? 29 : lengths[month - 1];
}

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Years begin in March: the leap day is the last day of its year, and the first day of a month is a linear
 * function of its number. The calendar repeats after 400 years or 146097 days. 719468 days are before
 * 1970. */
int64_t civil_days(int year, int month, int day) {
  int64_t y = month <= 2 ? year - 1 : year;
  int64_t turn = floor_div(y, 400), year_of_turn = y - turn * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return turn * 146097 + year_of_turn * 365 + year_of_turn / 4 - year_of_turn / 100 + day_of_year - 719468;
}

void civil_date(int64_t days, struct civil *out) {
  int64_t z = days + 719468, turn = floor_div(z, 146097), day = z - turn * 146097;
  int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  int64_t day_of_year = day - (365 * year + year / 4 - year / 100), month = (5 * day_of_year + 2) / 153;
  out->day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
  out->month = (int)(month < 10 ? month + 3 : month - 9);
  out->year = (int)(year + turn * 400 + (out->month <= 2));
}

int civil_weekday(int64_t days) {
  return (int)(days + 4 - floor_div(days + 4, 7) * 7); /* 1970-01-01 was a Thursday */
}

bool civil_valid(const struct civil *c) {
  return c->year >= 0 && c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
         c->day <= civil_month_length(c->year, c->month) && c->hour >= 0 && c->hour <= 23 && c->minute >= 0 &&
         c->minute <= 59 && c->second >= 0 && c->second <= 59;
}

int64_t civil_seconds(const struct civil *c) {
  return civil_days(c->year, c->month, c->day) * CIVIL_DAY + c->hour * 3600 + c->minute * 60 + c->second;
}

void civil_from_seconds(int64_t utc, struct civil *out) {
  int64_t days = floor_div(utc, CIVIL_DAY);
  int second = (int)(utc - days * CIVIL_DAY);
  civil_date(days, out);
  out->hour = second / 3600, out->minute = second / 60 % 60, out->second = second % 60;
}

/* ---- text ---- */

struct text {
  const unsigned char *at, *end;
};

static bool digits(struct text *t, int count, int *value) {
  *value = 0;
  if (t->end - t->at < count) return false;
  for (int i = 0; i < count; i++, t->at++) {
    if (*t->at < '0' || *t->at > '9') return false;
    *value = *value * 10 + (*t->at - '0');
  }
  return true;
}

/* One of the characters of any; the character, or 0. */
static int one_of(struct text *t, const char *any) {
  if (t->at == t->end || !*t->at || !strchr(any, *t->at)) return 0;
  return *t->at++;
}

static bool date(struct text *t, struct civil *c) {
  return digits(t, 4, &c->year) && one_of(t, "-") && digits(t, 2, &c->month) && one_of(t, "-") &&
         digits(t, 2, &c->day);
}

static bool clock_time(struct text *t, struct civil *c) {
  return digits(t, 2, &c->hour) && one_of(t, ":") && digits(t, 2, &c->minute) && one_of(t, ":") &&
         digits(t, 2, &c->second);
}

static bool fraction_of(struct text *t, double *fraction) {
  double weight = 0.1;
  *fraction = 0;
  if (!one_of(t, ".")) return true;
  for (int count = 0, digit;; count++, weight /= 10) {
    if (!digits(t, 1, &digit)) return count > 0;
    if (count < 9) *fraction += digit * weight;
  }
}

static bool offset_of(struct text *t, int *offset) {
  int sign = one_of(t, "Zz+-"), hours, minutes;
  *offset = 0;
  if (sign == 'Z' || sign == 'z') return true;
  if (!sign || !digits(t, 2, &hours) || !one_of(t, ":") || !digits(t, 2, &minutes)) return false;
  *offset = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
  return hours <= 23 && minutes <= 59;
}

static bool refuse(struct err *e, struct bytes text, const char *wanted) {
  return err_set(e, KIND_invalid, "'%.*s' is not %s", (int)(text.size < 40 ? text.size : 40),
                 (const char *)text.data, wanted);
}

bool civil_parse_date(struct civil *out, struct bytes text, struct err *e) {
  struct text t = {text.data, text.data + text.size};
  *out = (struct civil){0};
  if (date(&t, out) && t.at == t.end && civil_valid(out)) return true;
  return refuse(e, text, "a date such as 2026-03-29");
}

bool civil_parse_time(int64_t *utc, double *fraction, struct bytes text, struct err *e) {
  static const char wanted[] = "a time with offset such as 2026-03-29T07:30:00+02:00 (RFC 3339)";
  struct text t = {text.data, text.data + text.size};
  struct civil c = {0};
  int offset;
  if (!date(&t, &c) || !one_of(&t, "Tt") || !clock_time(&t, &c) || !fraction_of(&t, fraction) ||
      !offset_of(&t, &offset) || t.at != t.end)
    return refuse(e, text, wanted);
  bool leap_second = c.second == 60; /* only ever the last of a UTC day: RFC 3339 section 5.7 */
  if (leap_second) c.second = 59;
  if (!civil_valid(&c)) return refuse(e, text, wanted);
  *utc = civil_seconds(&c) - offset;
  if (leap_second && (*utc + 1) % CIVIL_DAY != 0) return refuse(e, text, wanted);
  return (*utc >= CIVIL_MIN && *utc <= CIVIL_MAX) || refuse(e, text, wanted);
}

void civil_format_date(struct buf *out, int64_t days) {
  struct civil c;
  civil_date(days, &c);
  buf_format(out, "%04d-%02d-%02d", c.year, c.month, c.day);
}

void civil_format_time(struct buf *out, int64_t utc, int offset) {
  int minutes = offset / 60, size = abs(minutes);
  struct civil c;
  civil_from_seconds(utc + minutes * 60, &c);
  buf_format(out, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", c.year, c.month, c.day, c.hour, c.minute,
             c.second, minutes < 0 ? '-' : '+', size / 60, size % 60);
}
