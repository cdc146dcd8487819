#include "http/retry_after.h"

#include "base/text.h"
#include "http/header.h"

#include <math.h>

enum { SEARCHED = 16 * 1024, LONGEST_WAIT = 30 * 24 * 3600 };

/* A number of whole seconds at the start; negative: none. */
static double leading_seconds(struct bytes b, size_t *digits) {
  double value = 0;
  *digits = 0;
  while (*digits < b.size && b.data[*digits] >= '0' && b.data[*digits] <= '9')
    value = fmin(value * 10 + (b.data[(*digits)++] - '0'), LONGEST_WAIT);
  return *digits ? value : -1;
}

/* ".5": no server should send it (RFC 9110 10.2.3), and it is rounded up. */
static bool is_fraction(struct bytes b) {
  bool digits = b.size > 1 && b.data[0] == '.';
  for (size_t i = 1; i < b.size && digits; i++) digits = b.data[i] >= '0' && b.data[i] <= '9';
  return digits;
}

static double wait_of(struct bytes value, double wall) {
  size_t digits;
  double seconds = leading_seconds(value, &digits);
  if (seconds >= 0 && digits == value.size) return seconds;
  if (seconds >= 0 && is_fraction(text_skip(value, digits))) return fmin(seconds + 1, LONGEST_WAIT);
  double date = header_date(value);
  return date < 0 ? -1 : fmin(fmax(date - wall, 0), LONGEST_WAIT);
}

/* RateLimit-Reset, or the latest of RateLimit-<category>-Reset. */
static bool is_reset(struct bytes name) {
  static const char ending[] = "-reset";
  size_t size = sizeof ending - 1;
  return text_starts(name, "ratelimit-") && name.size >= size &&
         text_starts(text_skip(name, name.size - size), ending);
}

double retry_after(struct bytes headers, struct bytes text, double wall) {
  double retry = -1, reset = -1;
  struct bytes name, value;
  size_t digits;
  while (header_next(&headers, &name, &value)) {
    if (text_is(name, "retry-after")) retry = fmax(retry, wait_of(value, wall));
    if (is_reset(name)) reset = fmax(reset, leading_seconds(value, &digits));
  }
  if (retry >= 0) return retry;
  if (reset >= 0) return reset;
  return leading_seconds(text_after(text_cut(text, SEARCHED), "retry in "), &digits);
}
