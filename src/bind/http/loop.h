/* The loop in Lua, and what its files share: its box, waiting and stepping (loop.c), requests on their way
 * out (submit.c), hosts that interrupt it (interrupts.c).
 */
#ifndef FLEET_BIND_HTTP_LOOP_H
#define FLEET_BIND_HTTP_LOOP_H

#include "bind/http/shared.h"
#include "bind/lua/bind.h"

enum { MOST_EVENTS = 256, WATCH_TAG = 2 };
enum { LOOP_TOKENS = 1 }; /* user value of a loop: token of a request in flight -> its transfer */

struct loop {
  struct shared_http *shared;
  struct poller_event
      events[MOST_EVENTS]; /* what the last wait found: libcurl's are handled, the others handed out */
  int count, next;
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
int loop_l_submit(lua_State *L), loop_l_begin(lua_State *L);
int loop_l_submit_raw(lua_State *L);

#endif
