/* The loop in Lua, and what its files share: its box, waiting and stepping (loop.c), requests on their way
 * out (submit.c), promises that a time wakes (sleepers.c), results that wait for their owner (untaken.c),
 * watched descriptors (watches.c), hosts that interrupt it (interrupts.c).
 *
 * A promise is a table of Lua's: for its request `token` and `transfer` are set here, `done` is read.
 */
#ifndef FLEET_BIND_HTTP_LOOP_H
#define FLEET_BIND_HTTP_LOOP_H

#include "base/timers.h"
#include "bind/http/shared.h"
#include "bind/lua/bind.h"

enum { MOST_EVENTS = 256, WATCH_TAG = 2 };
/* User values of a loop: token of a request in flight -> its promise; key of a timer -> its promise;
 * descriptor -> its watch. */
enum { LOOP_PROMISES = 1, LOOP_SLEEPERS = 2, LOOP_WATCHES = 3 };

struct untaken {
  int count;
  double pause, at; /* poller_now() seconds: the descriptor is to be ready again then */
};

struct loop {
  struct shared_http *shared;
  struct poller_event
      events[MOST_EVENTS]; /* what the last wait found: libcurl's are handled, the others handed out */
  int count, next;
  struct timers sleepers;
  struct untaken untaken;
  lua_Integer last_token;
  double own, told; /* seconds that loop:timeout was last given, and what it answered; negative: none */
  bool stepped;     /* by loop:wait, since when nothing was looked at */
  bool exported;    /* a host waits on the descriptor: its timer must be armed */
  bool interrupts;  /* host_interrupts */
};

extern const struct box_type loop_type;
struct loop *check_loop(lua_State *L); /* the first argument */

void open_settings(lua_State *L);        /* core.settings */
bool host_interrupts(lua_State *L);      /* whether the host may interrupt Lua code */
void refuse_interruptions(lua_State *L); /* raises where it may interrupt the running coroutine */
/* Until the descriptor is to be ready again; negative: never. */
double untaken_seconds(const struct untaken *u);
void untaken_told(struct untaken *u); /* a turn has begun */

int loop_l_submit(lua_State *L), loop_l_submit_raw(lua_State *L);
int loop_l_sleep(lua_State *L), loop_l_next_at(lua_State *L), loop_l_due(lua_State *L);
int loop_l_untaken(lua_State *L), loop_l_taken(lua_State *L);
int loop_l_watch(lua_State *L), loop_l_unwatch(lua_State *L), loop_l_ready(lua_State *L);

#endif
