#include "bind/call/params.h"
#include "bind/call/request.h"
#include "bind/crypto/context.h"
#include "bind/signing/commands.h"
#include "bind/signing/session.h"
#include "crypto/random.h"

#include <string.h>

enum { COMMAND_LIFETIME = 15 /* s in which a vehicle takes a command */ };

/* ---- what a message needs ---- */

static bool has_own_random(lua_State *L) {
  bool own = lua_getiuservalue(L, 1, OPTION_RANDOM) != LUA_TNIL;
  lua_pop(L, 1);
  return own;
}

/* In this order: routing address, uuid, and for GCM the nonce. */
static bool fill_message_random(lua_State *L, const struct session_box *h, bool nonce,
                                struct message_random *r, struct err *e) {
  if (!has_own_random(L)) return crypto_random(h->crypto, r, sizeof *r, e);
  bool filled = fill_random(L, 1, h->crypto, r->address, ADDRESS_SIZE, e) &&
                fill_random(L, 1, h->crypto, r->uuid, UUID_SIZE, e) &&
                (!nonce || fill_random(L, 1, h->crypto, r->nonce, NONCE_SIZE, e));
  check_session(L); /* the caller's function may have closed it */
  return filled;
}

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
  enum method method = METHOD_HMAC;
  if (lua_getfield(L, index, "method") != LUA_TNIL) {
    const char *given = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (strcmp(given, "gcm") == 0)
      method = METHOD_GCM;
    else if (strcmp(given, "hmac") != 0)
      usage_error(L, "option 'method' must be 'hmac' or 'gcm'");
  }
  lua_pop(L, 1);
  return method;
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

static const char *const option_names[] = {"method", "expires_in", "encrypt_response",
                                           "flags",  "again",      "unpublished"};
enum { SIGN_OPTIONS = 5, COMMAND_OPTIONS = 6 };
static const struct sign_options usual_options = {METHOD_HMAC, COMMAND_LIFETIME, FLAG_ENCRYPT_RESPONSE};

/* count: how many of option_names are taken */
static struct sign_options sign_options(lua_State *L, int index, size_t count) {
  if (lua_isnoneornil(L, index)) return usual_options;
  check_options(L, index, option_names, count);
  return (struct sign_options){method_option(L, index), lifetime_option(L, index), flags_option(L, index)};
}

/* The id of the message in whose place one is signed; its data are NULL without the option. The options table
 * keeps the text. */
static struct bytes again_option(lua_State *L, int index) {
  struct bytes id = {NULL, 0};
  if (lua_isnoneornil(L, index)) return id;
  if (lua_getfield(L, index, "again") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING) usage_error(L, "option 'again' must be the id that sign() gave");
    id.data = (const unsigned char *)lua_tolstring(L, -1, &id.size);
  }
  lua_pop(L, 1);
  return id;
}

static bool sign_message(struct session *s, struct bytes again, struct bytes payload,
                         const struct sign_options *o, const struct message_random *r, double now,
                         struct buf *out, struct err *e) {
  return again.data ? session_sign_again(s, again, payload, o, r, now, out, e)
                    : session_sign(s, payload, o, r, now, out, e);
}

static bool unpublished_option(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return false;
  lua_getfield(L, index, "unpublished");
  bool wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return wanted;
}

/* ---- bytes ---- */

/* session:handshake() -> bytes to send */
int session_l_handshake(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct message_random r;
  double now = read_mono(L, 1);
  if (!fill_message_random(L, check_session(L), false, &r, &e)) return push_not_sent(L, &e);
  struct buf *out = push_scratch(L);
  if (!session_handshake(check_session(L)->session, &r, now, out, &e)) return push_not_sent(L, &e);
  push_buf(L, out);
  return 1;
}

/* session:sign(payload, { method = "hmac"|"gcm", expires_in = 15, encrypt_response = true, flags =, again =
 * })
 * -> message, id. The option flags gives all bits at once, in place of encrypt_response; again is the id of a
 * message that the vehicle proved not to have taken. */
int session_l_sign(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct bytes payload = check_bytes(L, 2);
  struct sign_options o = sign_options(L, 3, SIGN_OPTIONS);
  struct message_random r;
  luaL_argcheck(L, payload.size <= MESSAGE_LIMIT / 2, 2, "the command is too long");
  double now = read_mono(L, 1);
  if (!fill_message_random(L, check_session(L), o.method == METHOD_GCM, &r, &e)) return push_not_sent(L, &e);
  struct buf *out = state_buffer(L);
  if (!sign_message(check_session(L)->session, again_option(L, 3), payload, &o, &r, now, out, &e))
    return push_not_sent(L, &e);
  push_whole(L, out);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return 2;
}

/* ---- from parameters to base64: the payload stays in here ---- */

static bool may_carry(const struct session_box *h, const struct row *row, bool unpublished, struct err *e) {
  if (!unpublished && !signed_form_published(row, e)) return false;
  return !row->message || row->domain == session_domain(h->session) ||
         err_set(e, KIND_invalid, "%s is a command of the domain %s, and the session is one of %s", row->name,
                 domain_name(row->domain), domain_name(session_domain(h->session)));
}

/* session:command(name, params, options) -> base64 text of the signed message, id; or nil, err, kind. options
 * are those of sign, and unpublished, as for fleet.command. */
int session_l_command(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  const struct row *row = check_command(L, 2);
  struct message_random r;
  lua_settop(L, 4);
  if (!lua_isnil(L, 3)) luaL_checktype(L, 3, LUA_TTABLE);
  struct sign_options o = sign_options(L, 4, COMMAND_OPTIONS);
  double now = read_mono(L, 1);
  bool unpublished = unpublished_option(L, 4);
  const struct session_box *h = check_session(L);
  bool ok = may_carry(h, row, unpublished, &e) && fill_message_random(L, h, o.method == METHOD_GCM, &r, &e);
  struct buf *payload = state_payload(L);
  ok = ok && command_payload(L, row, lua_isnil(L, 3) ? 0 : 3, payload, &e);
  struct buf *message = state_buffer(L);
  ok = ok && sign_message(check_session(L)->session, again_option(L, 4), buf_bytes(payload), &o, &r, now,
                          message, &e);
  buf_clear(payload);
  if (!ok) return push_not_sent(L, &e);
  buf_base64(payload, buf_bytes(message));
  push_whole(L, payload);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return 2;
}

/* ---- requests of the service that carry a message: doc/protocol.md#signed-transport ---- */

/* The row's path with the session's VIN, which needs no encoding. */
static void write_target(struct buf *target, const struct row *row, struct bytes vin) {
  const char *from = strchr(row->path, '{'), *to = from ? strchr(from, '}') : NULL;
  if (!to) {
    target->failed = true;
    return;
  }
  buf_add(target, row->path, (size_t)(from - row->path));
  buf_add(target, vin.data, vin.size);
  buf_text_add(target, to + 1);
}

/* label: what failures call it. */
static void write_envelope(struct request *envelope, const struct session_box *h, const char *label,
                           struct bytes message) {
  const struct row *row = envelope->row;
  write_target(&envelope->target, row, session_vin(h->session));
  buf_text_add(&envelope->body, "{\"routable_message\":\"");
  buf_base64(&envelope->body, message);
  buf_text_add(&envelope->body, "\"}");
  envelope->has_body = envelope->written = true;
  envelope->label = label;
}

/* The planned command, or NULL for bytes that the module made itself. */
static const struct request *command_at(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING ? NULL : box_check(L, index, &request_type);
}

static const char *label_of(const struct request *command, const struct row *row) {
  return command ? command->row->name : row->name;
}

/* The envelope was made before the message: making anything may run a finaliser of the host's, which may
 * sign. */
static void fill_envelope(lua_State *L, struct request *envelope, const struct session_box *h,
                          const char *label, struct buf *message) {
  write_envelope(envelope, h, label, buf_bytes(message));
  buf_clear(message);
  if (!buf_ok(&envelope->target) || !buf_ok(&envelope->body)) luaL_error(L, "out of memory");
}

/* session:handshake_request(command, row, now) -> the request that carries a handshake for it */
int session_l_handshake_request(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct session_box *h = check_session(L);
  const struct request *command = command_at(L, 2);
  const struct row *row = row_at(L, 3);
  struct message_random r;
  double now = luaL_checknumber(L, 4);
  if (!fill_message_random(L, h, false, &r, &e)) return push_not_sent(L, &e);
  struct request *envelope = request_new(L, row);
  struct buf *message = state_buffer(L);
  h = check_session(L);
  if (!session_handshake(h->session, &r, now, message, &e)) return push_not_sent(L, &e);
  fill_envelope(L, envelope, h, label_of(command, row), message);
  return 1;
}

/* Pushes the request that carries the command at index 2 signed with the session at 1, and the message's id;
 * false: e says why. again: the id of the message whose counter it carries, or empty for the next counter. */
static bool push_signed_request(lua_State *L, const struct row *row, double now, struct bytes again,
                                struct err *e) {
  const struct request *command = command_at(L, 2);
  struct message_random r;
  if (!fill_message_random(L, check_session(L), false, &r, e)) return false;
  struct request *envelope = request_new(L, row);
  struct buf *payload = state_payload(L);
  bool ok = !command || request_payload(L, 2, payload, e);
  struct bytes bytes = command ? buf_bytes(payload) : check_bytes(L, 2);
  struct buf *message = state_buffer(L);
  const struct session_box *h = check_session(L); /* what that ran may have closed it */
  ok = ok && sign_message(h->session, again, bytes, &usual_options, &r, now, message, e);
  buf_clear(payload);
  if (!ok) return false;
  fill_envelope(L, envelope, h, label_of(command, row), message);
  lua_pushlstring(L, (const char *)r.uuid, UUID_SIZE);
  return true;
}

/* session:sign_request(command, row, now, again) -> the request that carries it signed, id; or nil, err,
 * kind. command: a planned request, or the bytes of a message. again: id of a message in whose place it is
 * signed; nothing comes back where that takes a new counter. */
int session_l_sign_request(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  const struct row *row = row_at(L, 3);
  double now = luaL_checknumber(L, 4);
  struct bytes again = {NULL, 0};
  if (!lua_isnoneornil(L, 5)) again = check_bytes(L, 5);
  if (again.data && !session_signs_again(check_session(L)->session, again)) return 0;
  return push_signed_request(L, row, now, again, &e) ? 2 : push_not_sent(L, &e);
}
