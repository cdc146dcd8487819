/* A host in C: many Lua states in many threads, and states opened and closed by the thousand. Run by `make
 * tsan` and, in the ordinary build, by spec/promise/embedding_spec.lua. Arguments: script, threads, openings
 * per thread.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
  const char *script;
  int openings;
  int failures;
};

static int run_once(const char *script) {
  lua_State *L = luaL_newstate();
  if (!L) return 1;
  luaL_openlibs(L);
  int failed = luaL_dofile(L, script) != 0;
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed;
}

static void *work(void *data) {
  struct job *job = data;
  for (int i = 0; i < job->openings && !job->failures; i++) job->failures += run_once(job->script);
  return NULL;
}

enum { MOST_THREADS = 64 };

static int positive(const char *text) {
  long value = strtol(text, NULL, 10);
  return value > 0 && value < 1000000 ? (int)value : 1;
}

int main(int argc, char **argv) {
  pthread_t threads[MOST_THREADS];
  struct job jobs[MOST_THREADS];
  const char *script = argc > 1 ? argv[1] : "spec/support/harness/threads.lua";
  int count = argc > 2 ? positive(argv[2]) : 2, failures = 0;
  if (count > MOST_THREADS) count = MOST_THREADS;
  for (int i = 0; i < count; i++) {
    jobs[i] = (struct job){script, argc > 3 ? positive(argv[3]) : 20, 0};
    if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) return 2;
  }
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
    failures += jobs[i].failures;
  }
  printf("%d threads, %d failures\n", count, failures);
  return failures ? 1 : 0;
}
