#include "bind/signing/session.h"

#include "bind/crypto/context.h"
#include "crypto/random.h"

/* fleet.session{ key =, vin =, domain =, random =, clock =, state = } -> session */
static int l_session(lua_State *L) {
  static const char *const names[] = {"key", "vin", "domain", "random", "clock", "state"};
  struct err e;
  err_clear(&e);
  struct identity p;
  expect_type(L, 1, LUA_TTABLE, "session: a table of options");
  lua_settop(L, 1);
  int state = lua_getfield(L, 1, "state");
  if (state != LUA_TNIL && state != LUA_TSTRING)
    return luaL_error(L, "option 'state' must be what export() gave");
  struct session_box *held = box_new(L, &session_type, sizeof *held, 2);
  check_identity(L, 1, names, sizeof names / sizeof *names, &p);
  held->session = session_new(p.key, p.vin, p.domain, &e);
  if (!held->session) return push_failure(L, &e);
  held->crypto = key_crypto(p.key);
  box_open(L, -1);
  keep_sources(L, 1);
  if (state == LUA_TNIL) return 1;
  struct now now = read_clock(L, 3);
  session_import(held->session, check_bytes(L, 2), now.mono, now.wall);
  return 1;
}

/* session:export(ahead, now, wall) -> string; ahead: counters that the state leaves out beyond the last one
 * used, 0 */
static int l_export(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  lua_Integer ahead = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, ahead >= 0 && ahead <= UINT32_MAX, 2, "a number of counters is needed");
  struct now now =
      lua_isnoneornil(L, 3) ? read_clock(L, 1) : (struct now){luaL_checknumber(L, 3), luaL_checknumber(L, 4)};
  struct buf *out = state_buffer(L);
  const struct session_box *h = check_session(L);
  if (!session_export(h->session, (uint32_t)ahead, now.mono, now.wall, out, &e)) return push_failure(L, &e);
  push_whole(L, out);
  return 1;
}

/* session:ready() -> whether commands can be signed: a handshake was accepted or a state taken */
static int l_ready(lua_State *L) {
  lua_pushboolean(L, session_ready(check_session(L)->session));
  return 1;
}

/* session:skip(n): passes over n counters */
static int l_skip(lua_State *L) {
  struct session_box *h = check_session(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0 && n <= UINT32_MAX, 2, "a number of counters is needed");
  session_skip(h->session, (uint32_t)n);
  return 0;
}

/* A state from a store may be an old copy, and another process may use the same copy. Each process that loads
 * it skips a random number of counters, so that it draws none that was used since. */
static void pass_over(struct session_box *h) {
  enum {
    STRIDE = 64 /* counters: more than a process draws between two reads of the stored session */,
    PLACES = 64
  };
  struct err e;
  err_clear(&e);
  unsigned char place = 'A';
  crypto_random(h->crypto, &place, 1, &e);
  session_skip(h->session, STRIDE * (1 + (uint32_t)place % PLACES));
}

/* core.resume(keys, options of core.session but the key) -> the session that goes on with the state, and
 * which key it is whose state that is; nil where it is damaged or another key's. The state says itself whose
 * key wrote it; the first key of a list of two may not be on the vehicle yet. */
static int l_resume(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  for (lua_Integer which = 1; lua_rawgeti(L, 1, which) != LUA_TNIL; which++) {
    lua_setfield(L, 2, "key");
    lua_pushcfunction(L, l_session);
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    struct session_box *h = box_test(L, 3, &session_type);
    if (h && session_ready(h->session)) {
      pass_over(h);
      lua_pushinteger(L, which);
      return 2;
    }
    if (h) box_close(L, 3);
    lua_settop(L, 2);
  }
  return 0;
}

static const char *const due_words[] = {NULL, "begin", "confirm"};

/* session:due(repeatable, now) -> "begin" or "confirm" where a handshake comes first, else nil */
static int l_due(lua_State *L) {
  struct session_box *h = check_session(L);
  lua_pushstring(L, due_words[session_due(h->session, lua_toboolean(L, 2), luaL_checknumber(L, 3))]);
  return 1;
}

/* session:counter() -> the counter of the last command */
static int l_counter(lua_State *L) {
  lua_pushinteger(L, session_counter(check_session(L)->session));
  return 1;
}

/* session:prepare(repeatable, now, wall, reserved, block) -> due, as above; else nil, and while the next
 * counter is below reserved nothing more, then a state that leaves so many counters out and the first counter
 * beyond them; or nil, nil, err, kind */
static int l_prepare(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct session_box *h = check_session(L);
  double now = luaL_checknumber(L, 3), wall = luaL_checknumber(L, 4);
  lua_Integer reserved = luaL_checkinteger(L, 5), block = luaL_checkinteger(L, 6);
  luaL_argcheck(L, block > 0 && block <= UINT32_MAX, 6, "a number of counters is needed");
  uint32_t counter = session_counter(h->session);
  lua_pushstring(L, due_words[session_due(h->session, lua_toboolean(L, 2), now)]);
  if (!lua_isnil(L, -1) || counter < reserved) return 1;
  struct buf *state = state_buffer(L);
  h = check_session(L);
  lua_pushnil(L);
  if (!session_export(h->session, (uint32_t)block, now, wall, state, &e)) return 1 + push_failure(L, &e);
  push_whole(L, state);
  lua_pushinteger(L, counter + block);
  return 3;
}

/* session:age() -> seconds since the vehicle's last authenticated word; very many when there was none */
static int l_age(lua_State *L) {
  check_session(L);
  double now = read_mono(L, 1);
  lua_pushnumber(L, session_age(check_session(L)->session, now));
  return 1;
}

/* session:shared() -> whether another process was seen to draw counters with the key */
static int l_shared(lua_State *L) {
  lua_pushboolean(L, session_shared(check_session(L)->session));
  return 1;
}

static const luaL_Reg session_methods[] = {{"handshake", session_l_handshake},
                                           {"accept", session_l_accept},
                                           {"sign", session_l_sign},
                                           {"command", session_l_command},
                                           {"open", session_l_open},
                                           {"export", l_export},
                                           {"ready", l_ready},
                                           {"counter", l_counter},
                                           {"skip", l_skip},
                                           {"due", l_due},
                                           {"prepare", l_prepare},
                                           {"age", l_age},
                                           {"shared", l_shared},
                                           {"handshake_request", session_l_handshake_request},
                                           {"sign_request", session_l_sign_request},
                                           {"read", session_l_read},
                                           {NULL, NULL}};
void open_sessions(lua_State *L) {
  box_define(L, &session_type);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, session_methods, 0);
  lua_pop(L, 2);
  lua_pushcfunction(L, l_session);
  lua_setfield(L, -2, "session");
  lua_pushcfunction(L, l_resume);
  lua_setfield(L, -2, "resume");
}
