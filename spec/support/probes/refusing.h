/* An allocator that gives up, for one probe and what it includes: its libraries go on with the system's. A
 * probe sets allocations_allowed to how many succeed before all others fail; -1: all succeed.
 */
#ifndef FLEET_PROBES_REFUSING_H
#define FLEET_PROBES_REFUSING_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

static long allocations_allowed = -1;

static bool refuses(void) {
  if (allocations_allowed < 0) return false;
  if (allocations_allowed == 0) return true;
  allocations_allowed--;
  return false;
}

#define NEXT(name) *(void **)&next = dlsym(RTLD_DEFAULT, name)

void *malloc(size_t size) {
  void *(*next)(size_t);
  NEXT("malloc");
  return refuses() ? NULL : next(size);
}

void *calloc(size_t count, size_t size) {
  void *(*next)(size_t, size_t);
  NEXT("calloc");
  return refuses() ? NULL : next(count, size);
}

void *realloc(void *p, size_t size) {
  void *(*next)(void *, size_t);
  NEXT("realloc");
  return refuses() ? NULL : next(p, size);
}

#undef NEXT

#endif
