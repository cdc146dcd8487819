#include "http/header.h"

#include "time/calendar.h"

#include <stdio.h>
#include <string.h>

bool header_next(struct bytes *headers, struct bytes *name, struct bytes *value) {
  const unsigned char *end = headers->size ? memchr(headers->data, '\n', headers->size) : NULL;
  if (!end) return false;
  *name = (struct bytes){headers->data, (size_t)(end - headers->data)};
  const unsigned char *colon = memchr(headers->data, ':', name->size);
  const unsigned char *from = colon ? colon + 1 : end;
  *headers = (struct bytes){end + 1, headers->size - name->size - 1};
  while (from < end && *from == ' ') from++;
  *value = (struct bytes){from, (size_t)(end - from)};
  if (colon) name->size = (size_t)(colon - name->data);
  return true;
}

struct bytes header_value(struct bytes headers, const char *name) {
  struct bytes found, value;
  while (header_next(&headers, &found, &value))
    if (bytes_equal(found, bytes_of(name))) return value;
  return (struct bytes){NULL, 0};
}

static int month_of(const char *name) {
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const char *at = strstr(names, name);
  return at && (at - names) % 3 == 0 ? (int)(at - names) / 3 + 1 : 0;
}

/* The dashes of the second form are blanks here. */
double header_date(struct bytes text) {
  struct civil c = {0};
  char date[40], month[4] = "";
  if (text.size >= sizeof date) return -1;
  for (size_t i = 0; i < text.size; i++) date[i] = text.data[i] == '-' ? ' ' : (char)text.data[i];
  date[text.size] = '\0';
  if (sscanf(date, "%*[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT", &c.day, month, &c.year, &c.hour,
             &c.minute, &c.second) != 6 &&
      sscanf(date, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d", month, &c.day, &c.hour, &c.minute, &c.second,
             &c.year) != 6)
    return -1;
  if (c.year >= 0 && c.year < 100) c.year += c.year < 70 ? 2000 : 1900;
  c.month = strlen(month) == 3 ? month_of(month) : 0;
  return civil_valid(&c) ? (double)civil_seconds(&c) : -1;
}
