#include "base/fork.h"

#include <pthread.h>
#include <stddef.h>

static unsigned generation;

static void in_child(void) {
  generation++;
}

/* Never undone: this object stays loaded. */
static void install(void) {
  pthread_atfork(NULL, NULL, in_child);
}

static void be_ready(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

unsigned fork_generation(void) {
  be_ready();
  return generation;
}
