#include "base/vin.h"
#include "bind/call/request.h"
#include "bind/signing/session.h"
#include "crypto/random.h"
#include "signing/session.h"

#include <string.h>
#include <time.h>

/* ---- what sessions and receivers share ---- */

void check_options(lua_State *L, int index, const char *const *names, size_t count) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *given = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = strcmp(names[i], given) == 0;
    if (!known) raise_unknown(L, "option", given, names, count);
  }
}

static const struct {
  const char *name;
  enum domain domain;
} domain_names[] = {{"vehicle_security", DOMAIN_VCSEC}, {"infotainment", DOMAIN_INFOTAINMENT}};

const char *domain_name(enum domain domain) {
  return domain_names[domain == DOMAIN_INFOTAINMENT].name;
}

enum domain check_domain(lua_State *L, int index) {
  if (lua_isinteger(L, index) && lua_tointeger(L, index) == DOMAIN_VCSEC) return DOMAIN_VCSEC;
  if (lua_isinteger(L, index) && lua_tointeger(L, index) == DOMAIN_INFOTAINMENT) return DOMAIN_INFOTAINMENT;
  const char *given = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
  for (size_t i = 0; i < 2; i++)
    if (strcmp(domain_names[i].name, given) == 0) return domain_names[i].domain;
  luaL_error(L, "'domain' must be 'vehicle_security' or 'infotainment'");
  return DOMAIN_NONE;
}

static void check_function(lua_State *L, int index, const char *name) {
  int type = lua_getfield(L, index, name);
  if (type != LUA_TNIL && type != LUA_TFUNCTION)
    luaL_error(L, "option '%s' must be a function, got %s", name, lua_typename(L, type));
  lua_pop(L, 1);
}

void check_party(lua_State *L, int index, const char *const *names, size_t count, struct party *p) {
  luaL_checktype(L, index, LUA_TTABLE);
  check_options(L, index, names, count);
  if (lua_getfield(L, index, "key") != LUA_TUSERDATA)
    luaL_error(L, "option 'key' must be a key: what fleet.key.load or fleet.key.generate gives");
  p->key = check_key(L, lua_gettop(L));
  if (lua_getfield(L, index, "vin") != LUA_TSTRING || !is_vin(check_bytes(L, -1)))
    usage_error(L, "option 'vin' must be a VIN: " VIN_SPELLING);
  memcpy(p->vin, lua_tostring(L, -1), sizeof p->vin);
  lua_getfield(L, index, "domain");
  p->domain = check_domain(L, lua_gettop(L));
  lua_pop(L, 3);
  check_function(L, index, "random");
  check_function(L, index, "clock");
}

void keep_sources(lua_State *L, int options) {
  lua_getfield(L, options, "random");
  lua_setiuservalue(L, -2, OPTION_RANDOM);
  lua_getfield(L, options, "clock");
  lua_setiuservalue(L, -2, OPTION_CLOCK);
}

static double system_clock(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The vehicle's clock goes on while this machine sleeps, so ours has to count that time too. */
#ifdef CLOCK_BOOTTIME
#define SESSION_CLOCK CLOCK_BOOTTIME
#else
#define SESSION_CLOCK CLOCK_MONOTONIC
#endif

double system_wall_clock(void) {
  return system_clock(CLOCK_REALTIME);
}

static bool has_clock(lua_State *L, int box) {
  if (lua_getiuservalue(L, box, OPTION_CLOCK) != LUA_TNIL) return true; /* the function stays on the stack */
  lua_pop(L, 1);
  return false;
}

double read_mono(lua_State *L, int box) {
  if (!has_clock(L, box)) return system_clock(SESSION_CLOCK);
  lua_pop(L, 1);
  return read_clock(L, box).mono;
}

struct now read_clock(lua_State *L, int box) {
  if (!has_clock(L, box)) return (struct now){system_clock(SESSION_CLOCK), system_wall_clock()};
  lua_call(L, 0, 2);
  if (!lua_isnumber(L, -2)) luaL_error(L, "clock() must return seconds, got %s", luaL_typename(L, -2));
  double mono = lua_tonumber(L, -2), wall = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : mono;
  lua_pop(L, 2);
  return (struct now){mono, wall};
}

bool draw(lua_State *L, int box, struct crypto *c, void *out, size_t size, struct err *e) {
  if (lua_getiuservalue(L, box, OPTION_RANDOM) == LUA_TNIL) {
    lua_pop(L, 1);
    return crypto_random(c, out, size, e);
  }
  lua_pushinteger(L, (lua_Integer)size);
  lua_call(L, 1, 1);
  if (lua_type(L, -1) != LUA_TSTRING || lua_rawlen(L, -1) != size)
    luaL_error(L, "random(%d) must return a string of %d bytes", (int)size, (int)size);
  memcpy(out, lua_tostring(L, -1), size);
  lua_pop(L, 1);
  return true;
}

/* ---- fleet.session ---- */

struct held {
  struct session *session;
  struct crypto *crypto; /* the session's */
};

static void release_session(void *object) {
  session_free(((struct held *)object)->session);
}

static const struct box_type session_type;

static struct held *check_session(lua_State *L) {
  return box_check(L, 1, &session_type);
}

/* fleet.session{ key =, vin =, domain =, random =, clock =, state = } -> session */
static int l_session(lua_State *L) {
  static const char *const names[] = {"key", "vin", "domain", "random", "clock", "state"};
  struct err e = ERR_INIT;
  struct party p;
  lua_settop(L, 1);
  check_party(L, 1, names, sizeof names / sizeof *names, &p);
  int state = lua_getfield(L, 1, "state");
  if (state != LUA_TNIL && state != LUA_TSTRING)
    return luaL_error(L, "option 'state' must be what export() gave");
  struct held *held = box_new(L, &session_type, sizeof *held, 2);
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

/* In this order: routing address, uuid, and for GCM the nonce. */
static bool draw_all(lua_State *L, struct held *h, bool nonce, struct message_random *d, struct err *e) {
  return draw(L, 1, h->crypto, d->address, ADDRESS_SIZE, e) && draw(L, 1, h->crypto, d->uuid, UUID_SIZE, e) &&
         (!nonce || draw(L, 1, h->crypto, d->nonce, NONCE_SIZE, e));
}

static int not_sent(lua_State *L, struct err *e) {
  e->outcome = OUTCOME_NOT_SENT;
  return push_failure(L, e);
}

/* session:handshake() -> bytes to send */
static int l_handshake(lua_State *L) {
  struct err e = ERR_INIT;
  struct held *h = check_session(L);
  struct message_random d;
  double now = read_mono(L, 1);
  if (!draw_all(L, h, false, &d, &e)) return not_sent(L, &e);
  struct buf *out = push_scratch(L);
  if (!session_handshake(h->session, &d, now, out, &e)) return not_sent(L, &e);
  push_buf(L, out);
  return 1;
}

/* session:accept(bytes) -> true, or nil, err, kind */
static int l_accept(lua_State *L) {
  struct err e = ERR_INIT;
  struct held *h = check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = read_mono(L, 1);
  if (!session_accept(h->session, in, now, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static double lifetime_option(lua_State *L, int index) {
  lua_Number seconds = 15;
  if (lua_getfield(L, index, "expires_in") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) luaL_error(L, "option 'expires_in' must be seconds");
    seconds = lua_tonumber(L, -1);
    if (!(seconds > 0 && seconds <= EPOCH_SECONDS))
      luaL_error(L, "option 'expires_in' must be above 0 and at most 2^30 seconds");
  }
  lua_pop(L, 1);
  return seconds;
}

static enum method method_option(lua_State *L, int index) {
  enum method method = METHOD_HMAC;
  if (lua_getfield(L, index, "method") != LUA_TNIL) {
    const char *given = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(given, "gcm") == 0)
      method = METHOD_GCM;
    else if (strcmp(given, "hmac") != 0)
      luaL_error(L, "option 'method' must be 'hmac' or 'gcm'");
  }
  lua_pop(L, 1);
  return method;
}

static uint32_t flags_option(lua_State *L, int index) {
  lua_Integer flags = FLAG_ENCRYPT_RESPONSE;
  int type = lua_getfield(L, index, "encrypt_response");
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    luaL_error(L, "option 'encrypt_response' must be true or false");
  if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1)) flags = 0;
  if (lua_getfield(L, index, "flags") != LUA_TNIL) {
    int whole;
    flags = lua_tointegerx(L, -1, &whole);
    if (!whole || flags < 0 || flags > UINT32_MAX)
      luaL_error(L, "option 'flags' must be a number of 32 bits");
  }
  lua_pop(L, 2);
  return (uint32_t)flags;
}

static struct sign_options sign_options(lua_State *L, int index) {
  static const char *const names[] = {"method", "expires_in", "encrypt_response", "flags"};
  if (lua_isnoneornil(L, index)) return (struct sign_options){METHOD_HMAC, 15, FLAG_ENCRYPT_RESPONSE};
  check_options(L, index, names, sizeof names / sizeof *names);
  return (struct sign_options){method_option(L, index), lifetime_option(L, index), flags_option(L, index)};
}

/* session:sign(payload, { method = "hmac"|"gcm", expires_in = 15, encrypt_response = true, flags = }) ->
 * bytes, id flags: the bits themselves, in place of encrypt_response. */
static int l_sign(lua_State *L) {
  struct err e = ERR_INIT;
  struct held *h = check_session(L);
  struct bytes payload = check_bytes(L, 2);
  struct sign_options o = sign_options(L, 3);
  struct message_random d;
  luaL_argcheck(L, payload.size <= MESSAGE_LIMIT / 2, 2, "the command is too long");
  double now = read_mono(L, 1);
  if (!draw_all(L, h, o.method == METHOD_GCM, &d, &e)) return not_sent(L, &e);
  struct buf *out = state_buffer(L);
  if (!session_sign(h->session, payload, &o, &d, now, out, &e)) return not_sent(L, &e);
  push_whole(L, out);
  lua_pushlstring(L, (const char *)d.uuid, UUID_SIZE);
  return 2;
}

/* The command's row and parameters become the body of the carrier, a planned signed_command; the payload
 * stays in here. */
static bool write_carrier(lua_State *L, struct held *h, const struct sign_options *o,
                          struct message_random *d, struct err *e) {
  struct request *carrier = box_check(L, 2, &request_type);
  const struct request *command = box_check(L, 3, &request_type);
  lua_getiuservalue(L, 3, REQUEST_PARAMS);
  int params = lua_istable(L, -1) ? lua_gettop(L) : 0;
  struct buf *payload = push_scratch(L);
  struct now now = read_clock(L, 1);
  if (!command_payload(L, command->row, params, payload, e) || !draw_all(L, h, false, d, e)) return false;
  struct buf *message = state_buffer(L);
  if (!session_sign(h->session, buf_bytes(payload), o, d, now.mono, message, e)) return false;
  buf_clear(&carrier->body);
  buf_text_add(&carrier->body, "{\"routable_message\":\"");
  buf_base64(&carrier->body, buf_bytes(message));
  buf_text_add(&carrier->body, "\"}");
  buf_clear(message);
  carrier->label = command->row->name;
  return buf_ok(&carrier->body) || err_out_of_memory(e);
}

/* session:sign_request(carrier, command, { expires_in = }) -> id; or nil, err, kind */
static int l_sign_request(lua_State *L) {
  struct err e = ERR_INIT;
  struct held *h = check_session(L);
  struct sign_options o = sign_options(L, 4);
  struct message_random d;
  if (!write_carrier(L, h, &o, &d, &e)) return not_sent(L, &e);
  lua_pushlstring(L, (const char *)d.uuid, UUID_SIZE);
  return 1;
}

/* The vehicle refused for what a session info would mend, and none came that could be taken. */
static bool is_stale(const struct answer *a, const struct err *e) {
  const struct fault *row = e->fault ? fault_row((uint32_t)e->fault) : NULL;
  return !a->resynced && row && row->resync;
}

static int push_open_failure(lua_State *L, const struct answer *a, const struct err *e) {
  push_failure(L, e); /* nil, err, kind */
  lua_pushboolean(L, is_stale(a, e));
  lua_setfield(L, -3, "stale");
  lua_pushboolean(L, a->resynced);
  lua_setfield(L, -3, "resynced");
  lua_pushboolean(L, e->fault && fault_is_final((uint32_t)e->fault));
  lua_setfield(L, -3, "final");
  if (!a->matched) return 3;
  lua_pushlstring(L, (const char *)a->id, UUID_SIZE);
  lua_setfield(L, -3, "id");
  return 3;
}

/* session:open(bytes) -> payload, id, authenticated, "wait"|"error" or nil
 * or nil, err, kind; err.fault, err.resynced (authenticated session info came with it and was taken), err.id,
 * err.stale (the session no longer fits the vehicle: begin a new one), err.final (the command must not be
 * repeated) */
static int l_open(lua_State *L) {
  static const char *const words[] = {NULL, "wait", "error"};
  struct err e = ERR_INIT;
  struct answer a;
  struct held *h = check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = read_mono(L, 1);
  struct buf *payload = state_buffer(L);
  if (!session_open(h->session, in, now, &a, payload, &e)) return push_open_failure(L, &a, &e);
  push_whole(L, payload);
  lua_pushlstring(L, (const char *)a.id, UUID_SIZE);
  lua_pushboolean(L, a.authenticated);
  lua_pushstring(L, words[a.status <= STATUS_ERROR ? a.status : STATUS_ERROR]);
  return 4;
}

/* session:export(ahead) -> string; ahead: counters that the state leaves out beyond the last one used, 0 */
static int l_export(lua_State *L) {
  struct err e = ERR_INIT;
  struct held *h = check_session(L);
  lua_Integer ahead = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, ahead >= 0 && ahead <= UINT32_MAX, 2, "a number of counters is needed");
  struct now now = read_clock(L, 1);
  struct buf *out = push_scratch(L);
  if (!session_export(h->session, (uint32_t)ahead, now.mono, now.wall, out, &e)) return push_failure(L, &e);
  push_buf(L, out);
  return 1;
}

/* session:ready() -> whether commands can be signed: a handshake was accepted or a state taken */
static int l_ready(lua_State *L) {
  lua_pushboolean(L, session_ready(check_session(L)->session));
  return 1;
}

/* session:counter() -> the counter of the last command */
static int l_counter(lua_State *L) {
  lua_pushinteger(L, session_counter(check_session(L)->session));
  return 1;
}

/* session:shared() -> whether somebody else was seen to draw counters with the key */
static int l_shared(lua_State *L) {
  lua_pushboolean(L, session_shared(check_session(L)->session));
  return 1;
}

/* session:skip(n): passes over n counters */
static int l_skip(lua_State *L) {
  struct held *h = check_session(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0 && n <= UINT32_MAX, 2, "a number of counters is needed");
  session_skip(h->session, (uint32_t)n);
  return 0;
}

/* session:age() -> seconds since the vehicle's last authenticated word; very many when there was none */
static int l_age(lua_State *L) {
  struct held *h = check_session(L);
  lua_pushnumber(L, session_age(h->session, read_mono(L, 1)));
  return 1;
}

static const luaL_Reg session_methods[] = {{"handshake", l_handshake},
                                           {"accept", l_accept},
                                           {"sign", l_sign},
                                           {"open", l_open},
                                           {"export", l_export},
                                           {"ready", l_ready},
                                           {"counter", l_counter},
                                           {"age", l_age},
                                           {"skip", l_skip},
                                           {"shared", l_shared},
                                           {"sign_request", l_sign_request},
                                           {NULL, NULL}};
static const struct box_type session_type = {"fleet.session", release_session, session_methods, NULL};

void open_signing(lua_State *L) {
  static const luaL_Reg functions[] = {{"session", l_session}, {NULL, NULL}};
  box_define(L, &session_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  open_keys(L);
  open_receiver(L);
  open_commands(L);
}
