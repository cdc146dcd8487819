/* fleet.session in Lua, and what its files share: its box (session_box.c), making and keeping one
 * (session.c), messages out (session_sign.c), answers in (session_answer.c). */
#ifndef FLEET_BIND_SIGNING_SESSION_H
#define FLEET_BIND_SIGNING_SESSION_H

#include "bind/signing/context.h"
#include "signing/session.h"

struct session_box {
  struct session *session;
  struct crypto *crypto; /* the session's */
};

extern const struct box_type session_type;
/* The first argument. Whatever makes something, or asks the caller's clock, may run a finaliser of the host's
 * that closes it: it is checked again behind that. */
struct session_box *check_session(lua_State *L);
/* The time at an index, where the caller has read the clock; else the session's own clock. */
double time_argument(lua_State *L, int index);
int push_not_sent(lua_State *L, struct err *e);

/* Methods of a session. */
int session_l_handshake(lua_State *L);
int session_l_sign(lua_State *L);
int session_l_command(lua_State *L);
int session_l_handshake_request(lua_State *L);
int session_l_sign_request(lua_State *L);
int session_l_accept(lua_State *L);
int session_l_open(lua_State *L);
int session_l_read(lua_State *L);

#endif
