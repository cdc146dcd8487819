/* The two boxes of fleet.server as its files see them: the server, and a request that waits for its answer.
 *
 * A request outlives the server's step() that handed it out: whoever answers later must make the library run
 * once, which is why a request holds its server.
 */
#ifndef FLEET_SERVER_SERVER_H
#define FLEET_SERVER_SERVER_H

#include "bind/lua/bind.h"
#include "server/daemon.h"

struct server {
  struct daemon daemon;
  int depth; /* step() may be entered again by a handler that blocks */
};

struct request {
  struct exchange *exchange;
  struct server *server; /* alive as long as the request holds its box */
  bool answered;
};

struct reply {
  struct kept *kept;
};

extern const struct box_type server_request_type, server_reply_type;

void server_run(struct server *s); /* requests that arrive on the way wait for the next step() */
/* Pushes the request that waits longest, and the table of what it says. The server is at index 1. */
struct request *request_push(lua_State *L, struct server *s);
/* Raises for a name that is not in names; the table is at index. */
void check_option_names(lua_State *L, int index, const char *const *names, size_t count);

/* The headers of a reply, a table at index or nothing: check raises, add does not. */
void reply_headers_check(lua_State *L, int index);
void reply_headers_add(lua_State *L, int index, struct MHD_Response *r);
int server_l_reply(lua_State *L);

#endif
