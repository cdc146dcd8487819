/* Loaded before everything else, it sets the clock that certificates are checked against to the first hour of
 * 1970. On 32 bits there are two: the libraries', whose time is narrow, and ours. */
#undef _TIME_BITS
#include <time.h>

__attribute__((visibility("default"))) time_t time(time_t *out) {
  if (out) *out = 1000;
  return 1000;
}

long long __time64(long long *out);
__attribute__((visibility("default"))) long long __time64(long long *out) {
  if (out) *out = 1000;
  return 1000;
}
