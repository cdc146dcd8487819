#include "base/firmware.h"

#include <string.h>

static const char *to_digit(const char *at) {
  return at + strcspn(at, "0123456789");
}

/* The next run of digits without its leading zeros, and its length; 0 at the end. */
static size_t next_number(const char **at, const char **digits) {
  const char *begin = to_digit(*at);
  *at = begin + strspn(begin, "0123456789");
  while (*begin == '0') begin++;
  *digits = begin;
  return (size_t)(*at - begin);
}

bool firmware_older(const char *version, const char *other) {
  while (*to_digit(version) || *to_digit(other)) {
    const char *a, *b;
    size_t m = next_number(&version, &a), n = next_number(&other, &b);
    int order = m == n ? memcmp(a, b, m) : m < n ? -1 : 1;
    if (order) return order < 0;
  }
  return false;
}

bool firmware_known(const char *version) {
  return *to_digit(version);
}
