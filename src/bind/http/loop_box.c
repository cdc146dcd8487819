/* What the files of the loop stand on; its methods are hung on it in loop.c. */
#include "bind/http/loop.h"

static void release_loop(void *object) {
  struct loop *l = object;
  struct shared_http *s = l->shared;
  l->shared = NULL;
  timers_free(&l->sleepers);
  if (s) shared_http_release(s);
}

const struct box_type loop_type = {"fleet.loop", release_loop, NULL, NULL};

struct loop *check_loop(lua_State *L) {
  struct loop *l = box_check(L, 1, &loop_type);
  if (poller_forked(&l->shared->poller))
    luaL_error(L, "the loop was created before fork: make a new client in a new state");
  return l;
}
