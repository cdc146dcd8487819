/* The two userdata of fleet.server: the server, and a request that waits for its answer.
 *
 * A request may be answered after the step() that returned it. The library must run then, so that a request
 * holds its server.
 */
#ifndef FLEET_SERVER_SERVER_H
#define FLEET_SERVER_SERVER_H

#include "bind/lua/bind.h"
#include "server/daemon.h"

/* User values of a server: its two handlers and the handle of its watch. */
enum { HOLDS_HANDLER = 1, HOLDS_HEAD_HANDLER, HOLDS_WATCH, SERVER_VALUES = HOLDS_WATCH };

struct server {
  struct daemon daemon;
  int depth;     /* step() may be entered again by a handler that blocks */
  bool answered; /* since the last step */
};

struct request {
  struct exchange *exchange;
  struct server *server; /* alive as long as the request holds its box */
  bool answered;
};

extern const struct box_type server_request_type;

void server_run(struct server *s); /* requests that arrive on the way wait for the next step() */
/* Pushes the request that waits longest. The server is at index 1. */
struct request *request_push(lua_State *L, struct server *s);
/* Pushes the table of what the request at index says. */
void request_push_fields(lua_State *L, int index);

/* Raises for a name that is not in names; the table is at index. */
void check_option_names(lua_State *L, int index, const char *const *names, size_t count);

/* The headers of a reply, a table at index or nothing: check raises, add does not. */
void reply_headers_check(lua_State *L, int index);
void reply_headers_add(lua_State *L, int index, struct MHD_Response *r);

#endif
