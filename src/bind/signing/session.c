/* fleet.session: the client's half of the signed protocol with one domain of one vehicle.
 *
 * Creating a Lua value, or calling the caller's clock or random, may run a finaliser that closes the session.
 * Therefore check_session is called after that and directly before the session is used.
 */
#include "signing/session.h"

#include "bind/call/handles.h"
#include "bind/call/reply.h"
#include "bind/call/request.h"
#include "bind/lua/json.h"
#include "bind/signing/commands.h"
#include "bind/signing/context.h"
#include "crypto/random.h"
#include "signing/wire/command_result.h"
#include "signing/wire/reflect.h"

#include <string.h>

struct session_box {
  struct session *session;
  struct crypto *crypto; /* the session's */
};

static void release_session(void *object) {
  session_free(((struct session_box *)object)->session);
}

static const luaL_Reg session_methods[];
static const struct box_type session_type = {"fleet.session", release_session, session_methods, NULL};

static struct session *check_session(lua_State *L) {
  return ((struct session_box *)box_check(L, 1, &session_type))->session;
}

static uint32_t check_counters(lua_State *L, int index, lua_Integer least) {
  lua_Integer n = luaL_checkinteger(L, index);
  luaL_argcheck(L, n >= least && n <= UINT32_MAX, index, "a number of counters is needed");
  return (uint32_t)n;
}

static int push_not_sent(lua_State *L, struct err *e) {
  e->outcome = OUTCOME_NOT_SENT;
  return push_failure(L, e);
}

/* ---- a session and its state ---- */

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
  struct session_box *box = box_new(L, &session_type, sizeof *box, 2);
  check_identity(L, 1, names, sizeof names / sizeof *names, &p);
  box->session = session_new(p.key, p.vin, p.domain, &e);
  if (!box->session) return push_failure(L, &e);
  box->crypto = key_crypto(p.key);
  box_open(L, -1);
  keep_sources(L, 1);
  if (state == LUA_TNIL) return 1;
  struct now now = read_clock(L, 3);
  session_import(box->session, check_bytes(L, 2), now.mono, now.wall);
  return 1;
}

/* session:export(ahead, now, wall) -> string; ahead: counters that the state leaves out beyond the last one
 * used, 0 */
static int l_export(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  uint32_t ahead = lua_isnoneornil(L, 2) ? 0 : check_counters(L, 2, 0);
  struct now now =
      lua_isnoneornil(L, 3) ? read_clock(L, 1) : (struct now){luaL_checknumber(L, 3), luaL_checknumber(L, 4)};
  struct buf *out = push_scratch(L);
  if (!session_export(check_session(L), ahead, now.mono, now.wall, out, &e)) return push_failure(L, &e);
  push_buf(L, out);
  return 1;
}

/* core.resume(keys, options of core.session without key) -> a session that continues from the state, and the
 * index of the key that wrote the state; nothing when the state is damaged or was written with another key.
 * The first of two keys may not be on the vehicle yet. */
static int l_resume(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  for (lua_Integer which = 1; lua_rawgeti(L, 1, which) != LUA_TNIL; which++) {
    lua_setfield(L, 2, "key");
    lua_pushcfunction(L, l_session);
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    struct session_box *box = box_test(L, 3, &session_type);
    if (box && session_ready(box->session)) {
      session_skip_stride(box->session);
      lua_pushinteger(L, which);
      return 2;
    }
    if (box) box_close(L, 3);
    lua_settop(L, 2);
  }
  return 0;
}

/* session:ready() -> whether commands can be signed: a handshake was accepted or a state taken */
static int l_ready(lua_State *L) {
  lua_pushboolean(L, session_ready(check_session(L)));
  return 1;
}

/* session:counter() -> the counter of the last command */
static int l_counter(lua_State *L) {
  lua_pushinteger(L, session_counter(check_session(L)));
  return 1;
}

/* session:skip(n): skips n counters */
static int l_skip(lua_State *L) {
  struct session *s = check_session(L);
  session_skip(s, check_counters(L, 2, 0));
  return 0;
}

/* session:age() -> seconds since the vehicle's last authentic message; 1e9 when there was none */
static int l_age(lua_State *L) {
  check_session(L);
  double now = read_mono(L, 1);
  lua_pushnumber(L, session_age(check_session(L), now));
  return 1;
}

/* session:shared() -> whether another process draws counters with the key */
static int l_shared(lua_State *L) {
  lua_pushboolean(L, session_shared(check_session(L)));
  return 1;
}

static const char *const due_words[] = {NULL, "begin", "confirm"};

/* session:due(repeatable, now) -> "begin" or "confirm" when a handshake must come first, else nil */
static int l_due(lua_State *L) {
  struct session *s = check_session(L);
  lua_pushstring(L, due_words[session_due(s, lua_toboolean(L, 2), luaL_checknumber(L, 3))]);
  return 1;
}

/* session:prepare(repeatable, now, wall, reserved, block) -> "begin" or "confirm", as session:due; or nil.
 * When the next counter is not below reserved, it returns nil, a state to save, which reserves block
 * counters, and the first counter after them. On failure: nil, nil, err, kind. */
static int l_prepare(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct session *s = check_session(L);
  double now = luaL_checknumber(L, 3), wall = luaL_checknumber(L, 4);
  lua_Integer reserved = luaL_checkinteger(L, 5);
  uint32_t block = check_counters(L, 6, 1), counter = session_counter(s);
  lua_pushstring(L, due_words[session_due(s, lua_toboolean(L, 2), now)]);
  if (!lua_isnil(L, -1) || counter < reserved) return 1;
  struct buf *state = push_scratch(L);
  lua_pushnil(L);
  if (!session_export(check_session(L), block, now, wall, state, &e)) return 1 + push_failure(L, &e);
  push_buf(L, state);
  lua_pushinteger(L, (lua_Integer)counter + block);
  return 3;
}

/* ---- options of a message ---- */

enum { COMMAND_LIFETIME = 15 /* s in which a vehicle accepts a command */ };

static double lifetime_option(lua_State *L, int index) {
  lua_Number seconds = COMMAND_LIFETIME;
  if (lua_getfield(L, index, "expires_in") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) usage_error(L, "option 'expires_in' must be seconds");
    seconds = lua_tonumber(L, -1);
    if (!(seconds > 0 && seconds <= EPOCH_SECONDS))
      usage_error(L, "option 'expires_in' must be above 0 and at most 2^30 seconds");
  }
  lua_pop(L, 1);
  return seconds;
}

static enum method method_option(lua_State *L, int index) {
  static const char *const names[] = {"hmac", "gcm"};
  int choice = 0;
  if (lua_getfield(L, index, "method") != LUA_TNIL) choice = choice_at(L, -1, names, 2);
  if (choice < 0) usage_error(L, "option 'method' must be 'hmac' or 'gcm'");
  lua_pop(L, 1);
  return choice == 1 ? METHOD_GCM : METHOD_HMAC;
}

static uint32_t flags_option(lua_State *L, int index) {
  lua_Integer flags = FLAG_ENCRYPT_RESPONSE;
  int type = lua_getfield(L, index, "encrypt_response");
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    usage_error(L, "option 'encrypt_response' must be true or false");
  if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1)) flags = 0;
  if (lua_getfield(L, index, "flags") != LUA_TNIL) {
    int whole;
    flags = lua_tointegerx(L, -1, &whole);
    if (!whole || flags < 0 || flags > UINT32_MAX)
      usage_error(L, "option 'flags' must be a number of 32 bits");
  }
  lua_pop(L, 2);
  return (uint32_t)flags;
}

struct message_options {
  struct sign_options sign;
  struct bytes again; /* id of an earlier message whose counter is used again; data NULL: none */
  bool unpublished;
};

static const struct message_options no_options = {
    {METHOD_HMAC, COMMAND_LIFETIME, FLAG_ENCRYPT_RESPONSE}, {NULL, 0}, false};

/* count: how many of the names are allowed. The options table keeps the text of again. */
static struct message_options message_options(lua_State *L, int index, size_t count) {
  static const char *const names[] = {"method", "expires_in", "encrypt_response",
                                      "flags",  "again",      "unpublished"};
  struct message_options o = no_options;
  if (lua_isnoneornil(L, index)) return o;
  check_options(L, index, names, count);
  o.sign = (struct sign_options){method_option(L, index), lifetime_option(L, index), flags_option(L, index)};
  if (lua_getfield(L, index, "again") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING) usage_error(L, "option 'again' must be the id that sign() gave");
    o.again = check_bytes(L, -1);
  }
  lua_pop(L, 1);
  o.unpublished = flag_member(L, index, "unpublished");
  return o;
}

/* In this order: routing address, uuid, and for GCM the nonce. */
static bool draw_random(lua_State *L, bool nonce, struct message_random *r, struct err *e) {
  check_session(L);
  struct crypto *c = ((struct session_box *)box_test(L, 1, &session_type))->crypto;
  bool own = lua_getiuservalue(L, 1, OPTION_RANDOM) != LUA_TNIL;
  lua_pop(L, 1);
  if (!own) return crypto_random(c, r, sizeof *r, e);
  return fill_random(L, 1, c, r->address, ADDRESS_SIZE, e) && fill_random(L, 1, c, r->uuid, UUID_SIZE, e) &&
         (!nonce || fill_random(L, 1, c, r->nonce, NONCE_SIZE, e));
}

static bool sign_message(struct session *s, struct bytes payload, const struct message_options *o,
                         const struct message_random *r, double now, struct buf *out, struct err *e) {
  return o->again.data ? session_sign_again(s, o->again, payload, &o->sign, r, now, out, e)
                       : session_sign(s, payload, &o->sign, r, now, out, e);
}

/* ---- messages as bytes ---- */

/* session:handshake() -> bytes to send */
static int l_handshake(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct message_random r;
  double now = read_mono(L, 1);
  struct buf *out = push_scratch(L);
  if (!draw_random(L, false, &r, &e) || !session_handshake(check_session(L), &r, now, out, &e))
    return push_not_sent(L, &e);
  push_buf(L, out);
  return 1;
}

/* session:sign(payload, { method = "hmac"|"gcm", expires_in = 15, encrypt_response = true, flags =, again =
 * })
 * -> message, id. flags: all bits, instead of encrypt_response. again: the id of a message that the vehicle
 * proved not to have taken. */
static int l_sign(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct bytes payload = check_bytes(L, 2);
  struct message_options o = message_options(L, 3, 5);
  struct message_random r;
  luaL_argcheck(L, payload.size <= MESSAGE_LIMIT / 2, 2, "the command is too long");
  double now = read_mono(L, 1);
  struct buf *out = push_scratch(L);
  if (!draw_random(L, o.sign.method == METHOD_GCM, &r, &e) ||
      !sign_message(check_session(L), payload, &o, &r, now, out, &e))
    return push_not_sent(L, &e);
  push_buf(L, out);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return 2;
}

static bool may_carry(const struct session *s, const struct row *row, bool unpublished, struct err *e) {
  if (!unpublished && !signed_form_published(row, e)) return false;
  return !row->message || row->domain == session_domain(s) ||
         err_set(e, KIND_invalid, "%s is a command of the domain %s, and the session is one of %s", row->name,
                 domain_name(row->domain), domain_name(session_domain(s)));
}

/* session:command(name, params, options) -> base64 text of the signed message, id; or nil, err, kind. options
 * are those of sign, and unpublished, as for fleet.command. The payload never becomes a Lua string. */
static int l_command(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  const struct row *row = check_command(L, 2);
  struct message_random r;
  lua_settop(L, 4);
  if (!lua_isnil(L, 3)) luaL_checktype(L, 3, LUA_TTABLE);
  struct message_options o = message_options(L, 4, 6);
  double now = read_mono(L, 1);
  struct buf *text = push_scratch(L), message = BUF_INIT;
  if (!may_carry(check_session(L), row, o.unpublished, &e) ||
      !draw_random(L, o.sign.method == METHOD_GCM, &r, &e) ||
      !command_payload(L, row, lua_isnil(L, 3) ? 0 : 3, text, &e))
    return push_not_sent(L, &e);
  bool ok = sign_message(check_session(L), buf_bytes(text), &o, &r, now, &message, &e);
  buf_clear(text);
  if (ok) buf_base64(text, buf_bytes(&message));
  buf_free(&message);
  if (!ok) return push_not_sent(L, &e);
  push_buf(L, text);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return 2;
}

/* ---- requests that carry a message: doc/protocol.md#signed-transport ---- */

/* The planned command at an index, or NULL for the bytes of a message that the module made itself. */
static const struct request *command_at(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING ? NULL : box_check(L, index, &request_type);
}

/* The row's path with the session's VIN, which needs no encoding; the message as its body. Frees the message.
 * command: gives the label for failures; NULL: the row does. */
static void fill_envelope(lua_State *L, struct request *envelope, const struct request *command,
                          struct bytes vin, struct buf *message) {
  const struct row *row = envelope->row;
  const char *from = strchr(row->path, '{'), *to = from ? strchr(from, '}') : NULL;
  if (to) {
    buf_add(&envelope->target, row->path, (size_t)(from - row->path));
    buf_add(&envelope->target, vin.data, vin.size);
    buf_text_add(&envelope->target, to + 1);
  }
  buf_text_add(&envelope->body, "{\"routable_message\":\"");
  buf_base64(&envelope->body, buf_bytes(message));
  buf_text_add(&envelope->body, "\"}");
  buf_free(message);
  envelope->has_body = envelope->written = true;
  envelope->label = command ? command->row->name : row->name;
  if (!to || !buf_ok(&envelope->target) || !buf_ok(&envelope->body)) luaL_error(L, "out of memory");
}

/* session:handshake_request(command, row, now) -> the request that carries a handshake for it */
static int l_handshake_request(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  const struct request *command = command_at(L, 2);
  struct message_random r;
  struct buf message = BUF_INIT;
  double now = luaL_checknumber(L, 4);
  struct request *envelope = request_new(L, row_at(L, 3));
  if (!draw_random(L, false, &r, &e)) return push_not_sent(L, &e);
  struct session *s = check_session(L);
  if (!session_handshake(s, &r, now, &message, &e)) return buf_free(&message), push_not_sent(L, &e);
  fill_envelope(L, envelope, command, session_vin(s), &message);
  return 1;
}

/* session:sign_request(command, row, now, again) -> the request that carries it signed, id; or nil, err,
 * kind. command: a planned request, or the bytes of a message. again: id of an earlier message whose counter
 * is used again; returns nothing when that would need a new counter. */
static int l_sign_request(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  const struct request *command = command_at(L, 2);
  const struct row *row = row_at(L, 3);
  double now = luaL_checknumber(L, 4);
  struct message_options o = no_options;
  if (!lua_isnoneornil(L, 5)) o.again = check_bytes(L, 5);
  if (o.again.data && !session_signs_again(check_session(L), o.again)) return 0;
  struct message_random r;
  struct request *envelope = request_new(L, row);
  int request = lua_gettop(L);
  struct buf *payload = push_scratch(L), message = BUF_INIT;
  if (!draw_random(L, false, &r, &e) || (command && !request_payload(L, 2, payload, &e)))
    return push_not_sent(L, &e);
  struct session *s = check_session(L);
  bool ok = sign_message(s, command ? buf_bytes(payload) : check_bytes(L, 2), &o, &r, now, &message, &e);
  buf_clear(payload);
  if (!ok) return buf_free(&message), push_not_sent(L, &e);
  fill_envelope(L, envelope, command, session_vin(s), &message);
  lua_pushvalue(L, request);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return 2;
}

/* ---- answers ---- */

/* session:accept(bytes, now) -> true, or nil, err, kind. Without now: the session's own clock. */
static int l_accept(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = lua_isnoneornil(L, 3) ? read_mono(L, 1) : luaL_checknumber(L, 3);
  if (!session_accept(check_session(L), in, now, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static int push_open_failure(lua_State *L, const struct answer *a, const struct err *e) {
  push_failure(L, e);
  lua_pushvalue(L, -2);
  set_boolean(L, "stale", a->stale);
  set_boolean(L, "resynced", a->resynced);
  set_boolean(L, "final", a->final);
  if (a->matched) set_bytes(L, "id", (struct bytes){a->id, UUID_SIZE});
  lua_pop(L, 1);
  return 3;
}

/* session:open(bytes) -> payload, id, authenticated, "wait"|"error" or nil
 * or nil, err, kind; err.fault, err.resynced (authenticated session info came with it and was taken), err.id,
 * err.stale (the session no longer fits the vehicle: begin a new one), err.final (the command must not be
 * repeated) */
static int l_open(lua_State *L) {
  static const char *const words[] = {NULL, "wait", "error"};
  struct err e;
  err_clear(&e);
  struct answer a;
  check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = read_mono(L, 1);
  struct buf *payload = push_scratch(L);
  if (!session_open(check_session(L), in, now, &a, payload, &e)) return push_open_failure(L, &a, &e);
  push_buf(L, payload);
  lua_pushlstring(L, (const char *)a.id, UUID_SIZE);
  lua_pushboolean(L, a.authenticated);
  lua_pushstring(L, words[a.status <= STATUS_ERROR ? a.status : STATUS_ERROR]);
  return 4;
}

static int push_done(lua_State *L, bool changed, const char *reason, bool authenticated) {
  lua_createtable(L, 0, 4);
  set_boolean(L, "changed", changed);
  set_text(L, "reason", reason);
  set_text(L, "via", "signed");
  set_boolean(L, "authenticated", authenticated);
  return 1;
}

static int push_refusal(lua_State *L, const struct err *e) {
  push_failure(L, e);
  lua_pushvalue(L, -2);
  set_boolean(L, "stale", answer_is_stale(e));
  lua_pop(L, 1);
  return 3;
}

/* Whether the answer at the top of the stack is a refusal, with or without data. */
static bool is_refusal(lua_State *L, const struct answer_facts *f) {
  bool refused = f->status != STATUS_OK;
  if (lua_getfield(L, -1, "actionStatus") == LUA_TTABLE) {
    refused = refused || lua_getfield(L, -1, "result") != LUA_TNIL; /* OK is 0, which is left out */
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return refused;
}

/* For a read: pushes this member of the answer as a table. An answer without it must give a reason. */
static int push_data(lua_State *L, const struct answer_facts *f, const char *member, struct err *e) {
  struct buf *json = push_scratch(L);
  const char *type = f->domain == DOMAIN_VCSEC ? "VCSEC.FromVCSECMessage" : "CarServer.Response";
  if (!members_json(type, f->payload, true, json, e)) return push_failure(L, e);
  if (!json_decode(L, buf_bytes(json), NULL, e)) return push_failure(L, e);
  if (lua_istable(L, -1) && !is_refusal(L, f) && lua_getfield(L, -1, member) == LUA_TTABLE) {
    set_boolean(L, "authenticated", f->authenticated);
    return 1;
  }
  if (answer_read(f, e)) {
    err_set(e, KIND_protocol, "the vehicle's answer holds no data");
    return push_failure(L, e);
  }
  answer_unchanged(true, e);
  return push_refusal(L, e);
}

/* A late answer to an earlier message is ignored, even when it is a refusal. */
static int push_other_answer(lua_State *L, bool resynced) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_protocol, "the answer belongs to another message");
  e.outcome = OUTCOME_UNKNOWN;
  return push_open_failure(L, &(struct answer){.resynced = resynced}, &e);
}

/* session:read(bytes, id, now, command) -> the result of the command for the message with this id; or nil,
 * err, kind, as session:open. command may be the name of a member of the answer: then the result is that
 * member, as a table. doc/protocol.md#vehicle-answers */
static int l_read(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct bytes in = check_bytes(L, 2), id = check_bytes(L, 3);
  double now = luaL_checknumber(L, 4);
  const struct request *command = command_at(L, 5);
  struct answer a;
  struct buf *payload = push_scratch(L);
  struct session *s = check_session(L);
  bool opened = session_open(s, in, now, &a, payload, &e);
  if (a.matched && !bytes_equal(id, (struct bytes){a.id, UUID_SIZE})) return push_other_answer(L, a.resynced);
  if (!opened) {
    if (e.outcome == OUTCOME_NONE) e.outcome = OUTCOME_UNKNOWN;
    return push_open_failure(L, &a, &e);
  }
  struct answer_facts f = {session_domain(s), buf_bytes(payload), a.authenticated,
                           a.status <= STATUS_ERROR ? a.status : STATUS_ERROR};
  if (!command) return push_data(L, &f, lua_tostring(L, 5), &e);
  if (answer_read(&f, &e)) return push_done(L, true, "", a.authenticated);
  if (answer_unchanged(command->options.strict, &e)) return push_done(L, false, e.reason, a.authenticated);
  return push_refusal(L, &e);
}

static const luaL_Reg session_methods[] = {{"handshake", l_handshake},
                                           {"accept", l_accept},
                                           {"sign", l_sign},
                                           {"command", l_command},
                                           {"open", l_open},
                                           {"export", l_export},
                                           {"ready", l_ready},
                                           {"counter", l_counter},
                                           {"skip", l_skip},
                                           {"due", l_due},
                                           {"prepare", l_prepare},
                                           {"age", l_age},
                                           {"shared", l_shared},
                                           {"handshake_request", l_handshake_request},
                                           {"sign_request", l_sign_request},
                                           {"read", l_read},
                                           {NULL, NULL}};

void open_sessions(lua_State *L) {
  static const luaL_Reg functions[] = {{"session", l_session}, {"resume", l_resume}, {NULL, NULL}};
  box_define(L, &session_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
