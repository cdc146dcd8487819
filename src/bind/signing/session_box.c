/* The userdata of a session, shared by all files of its methods; session.c registers the methods. */
#include "bind/signing/session.h"

static void release_session(void *object) {
  session_free(((struct session_box *)object)->session);
}

const struct box_type session_type = {"fleet.session", release_session, NULL, NULL};

struct session_box *check_session(lua_State *L) {
  return box_check(L, 1, &session_type);
}

double time_argument(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? read_mono(L, 1) : luaL_checknumber(L, index);
}

int push_not_sent(lua_State *L, struct err *e) {
  e->outcome = OUTCOME_NOT_SENT;
  return push_failure(L, e);
}
