#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>

static unsigned generation;
static atomic_uint forks; /* another thread may fork */

/* Before the fork and after it: what another thread opens in between counts as open before. */
static void around(void) {
  atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void in_child(void) {
  generation++;
  around();
}

/* Never undone: this object stays loaded. */
static void install(void) {
  pthread_atfork(around, around, in_child);
}

static void be_ready(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

unsigned fork_generation(void) {
  be_ready();
  return generation;
}

unsigned fork_count(void) {
  be_ready();
  return atomic_load_explicit(&forks, memory_order_relaxed);
}
