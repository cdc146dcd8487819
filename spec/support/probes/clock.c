/* Loaded before everything else, it sets the clock that certificates are checked against to the first hour of
 * 1970. */
#include <time.h>

__attribute__((visibility("default"))) time_t time(time_t *out) {
  if (out) *out = 1000;
  return 1000;
}
