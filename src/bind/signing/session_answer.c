#include "base/reason.h"
#include "bind/call/reply.h"
#include "bind/call/request.h"
#include "bind/crypto/context.h"
#include "bind/lua/json.h"
#include "bind/signing/session.h"
#include "signing/wire/command_result.h"
#include "signing/wire/reflect.h"

#include <stdio.h>
#include <string.h>

/* session:accept(bytes, now) -> true, or nil, err, kind */
int session_l_accept(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = time_argument(L, 3);
  if (!session_accept(check_session(L)->session, in, now, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
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
int session_l_open(lua_State *L) {
  static const char *const words[] = {NULL, "wait", "error"};
  struct err e;
  err_clear(&e);
  struct answer a;
  check_session(L);
  struct bytes in = check_bytes(L, 2);
  double now = read_mono(L, 1);
  struct buf *payload = state_buffer(L);
  if (!session_open(check_session(L)->session, in, now, &a, payload, &e)) return push_open_failure(L, &a, &e);
  push_whole(L, payload);
  lua_pushlstring(L, (const char *)a.id, UUID_SIZE);
  lua_pushboolean(L, a.authenticated);
  lua_pushstring(L, words[a.status <= STATUS_ERROR ? a.status : STATUS_ERROR]);
  return 4;
}

/* ---- what the answer says about one command: doc/protocol.md#vehicle-answers ---- */

static int push_done(lua_State *L, bool changed, const char *reason, bool authenticated) {
  lua_createtable(L, 0, 4);
  set_boolean(L, "changed", changed);
  set_text(L, "reason", reason);
  set_text(L, "via", "signed");
  set_boolean(L, "authenticated", authenticated);
  return 1;
}

/* A reason says either that the wanted state holds already or why nothing was done. command: NULL, where data
 * were asked for. */
static int push_refusal(lua_State *L, const struct request *command, bool authenticated, struct err *e) {
  const struct reason *known = e->reason[0] ? reason_of(e->reason) : NULL;
  if (command && known && known->kind == KIND_none && !command->strict)
    return push_done(L, false, e->reason, authenticated);
  if (known && known->doc) {
    size_t size = strlen(e->message);
    snprintf(e->message + size, sizeof e->message - size, ". %s", known->doc);
  }
  if (known && known->kind != KIND_none) e->kind = known->kind;
  push_failure(L, e);
  lua_pushboolean(L,
                  e->kind == KIND_protocol && e->outcome == OUTCOME_REFUSED); /* the session does not fit */
  lua_setfield(L, -3, "stale");
  return 3;
}

/* Whether the answer at the top of the stack, with or without data, says that it was refused. */
static bool is_no(lua_State *L, const struct answer_facts *f) {
  bool no = f->status != STATUS_OK;
  if (lua_getfield(L, -1, "actionStatus") == LUA_TTABLE) {
    no = no || lua_getfield(L, -1, "result") != LUA_TNIL; /* OK is 0, which is left out */
    lua_settop(L, -2);
  }
  lua_pop(L, 1);
  return no;
}

/* What is asked for with a message of the module's own: this member of the answer as a table. Without it the
 * answer says why, or it is none. */
static int push_data(lua_State *L, const struct answer_facts *f, const char *member, struct err *e) {
  struct buf *json = push_scratch(L);
  const char *type = f->domain == DOMAIN_VCSEC ? "VCSEC.FromVCSECMessage" : "CarServer.Response";
  if (!members_json(type, f->payload, true, json, e)) return push_failure(L, e);
  if (!json_decode(L, buf_bytes(json), NULL, e)) return push_failure(L, e);
  if (lua_istable(L, -1) && !is_no(L, f) && lua_getfield(L, -1, member) == LUA_TTABLE) {
    set_boolean(L, "authenticated", f->authenticated);
    return 1;
  }
  if (!answer_read(f, e)) return push_refusal(L, NULL, f->authenticated, e);
  err_set(e, KIND_protocol, "the vehicle's answer holds no data");
  return push_failure(L, e);
}

/* A late answer to an earlier message says nothing, also where it is a refusal. */
static int push_other_answer(lua_State *L, bool resynced) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_protocol, "the answer belongs to another message");
  e.outcome = OUTCOME_UNKNOWN;
  push_failure(L, &e);
  lua_pushboolean(L, resynced);
  lua_setfield(L, -3, "resynced");
  return 3;
}

/* Of the session at index 1. member: of the data that are wanted, where command is NULL. */
static int push_read(lua_State *L, struct bytes in, struct bytes id, double now,
                     const struct request *command, const char *member) {
  struct err e;
  err_clear(&e);
  struct answer a;
  struct buf *payload =
      command ? state_payload(L) : push_scratch(L); /* data become tables while they are read */
  const struct session_box *h = check_session(L);
  bool opened = session_open(h->session, in, now, &a, payload, &e);
  if (a.matched && !bytes_equal(id, (struct bytes){a.id, UUID_SIZE})) return push_other_answer(L, a.resynced);
  if (!opened) {
    if (e.outcome == OUTCOME_NONE) e.outcome = OUTCOME_UNKNOWN;
    return push_open_failure(L, &a, &e);
  }
  struct answer_facts f = {session_domain(h->session), buf_bytes(payload), a.authenticated,
                           a.status <= STATUS_ERROR ? a.status : STATUS_ERROR};
  if (!command) return push_data(L, &f, member, &e);
  if (!answer_read(&f, &e)) return push_refusal(L, command, a.authenticated, &e);
  return push_done(L, true, "", a.authenticated);
}

/* session:read(bytes, id, now, command) -> the result of the command, or, where the name of a member of the
 * answer is given in place of a command, that member as a table; or nil, err, kind, as open gives them, for
 * the message with this id */
int session_l_read(lua_State *L) {
  check_session(L);
  struct bytes in = check_bytes(L, 2), id = check_bytes(L, 3);
  double now = luaL_checknumber(L, 4);
  const char *member = lua_type(L, 5) == LUA_TSTRING ? lua_tostring(L, 5) : NULL;
  const struct request *command = member ? NULL : box_check(L, 5, &request_type);
  return push_read(L, in, id, now, command, member);
}
