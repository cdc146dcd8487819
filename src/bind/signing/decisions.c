/* What the files of src/signing decide about commands, for the Lua that carries it out. */
#include "base/reason.h"
#include "bind/call/handles.h"
#include "bind/call/request.h"
#include "bind/signing/commands.h"
#include "signing/recovery.h"
#include "signing/transport.h"

static const char *const commands_names[] = {"auto", "signed", "plain", "proxy", NULL};
static const char *const transport_names[] = {NULL, "signed", "plain", "proxy"};

/* core.transport_rule(row, option commands, has_key) -> { transport = "signed" | "plain" | "proxy" or nil,
 * by_value =, recall =, why = }: src/signing/transport.h */
static int l_transport_rule(lua_State *L) {
  const struct row *row = row_at(L, 1);
  enum commands commands = (enum commands)luaL_checkoption(L, 2, NULL, commands_names);
  struct transport_rule rule = transport_rule(row, commands, lua_toboolean(L, 3));
  lua_createtable(L, 0, 4);
  set_boolean(L, "by_value", rule.by_value);
  set_boolean(L, "recall", rule.recall);
  set_text(L, "transport", transport_names[rule.transport]);
  set_text(L, "why", rule.why);
  return 1;
}

/* ---- facts in a table ---- */

/* The place of a text among names; 0, where the first name is NULL or the default, for any other. */
static int choice_member(lua_State *L, int index, const char *name, const char *const *names, size_t count) {
  lua_getfield(L, index, name);
  int choice = choice_at(L, -1, names, count);
  lua_pop(L, 1);
  return choice < 0 ? 0 : choice;
}

static enum outcome outcome_member(lua_State *L, int index) {
  lua_getfield(L, index, "outcome");
  enum outcome outcome = outcome_of(lua_tostring(L, -1));
  lua_pop(L, 1);
  return outcome;
}

static enum kind kind_member(lua_State *L, int index) {
  lua_getfield(L, index, "kind");
  const char *word = lua_tostring(L, -1);
  enum kind kind = word ? kind_of(word) : KIND_none;
  lua_pop(L, 1);
  return kind;
}

/* ---- the other way ---- */

static struct transport_refusal refusal_at(lua_State *L, int index, const struct row *row) {
  static const char *const trait_names[] = {NULL, "by_state", "sign", "plain"};
  return (struct transport_refusal){
      .row = row,
      .commands = (enum commands)choice_member(L, index, "commands", commands_names, 4),
      .has_key = flag_member(L, index, "has_key"),
      .sent = (enum transport)choice_member(L, index, "sent", transport_names, 4),
      .plain_refused = flag_member(L, index, "plain_refused"),
      .signed_refused = flag_member(L, index, "signed_refused"),
      .trait = (enum trait)choice_member(L, index, "trait", trait_names, 4),
      .kind = kind_member(L, index),
      .outcome = outcome_member(L, index),
      .fault = (int)number_member(L, index, "fault", 0),
      .outcome_unknown = flag_member(L, index, "outcome_unknown"),
      .idempotent = flag_member(L, index, "idempotent")};
}

static bool is_signable(lua_State *L, int index, const struct transport_refusal *x, struct buf *payload,
                        struct err *e) {
  if (!x->row->message) return false;
  bool matters = x->sent == TRANSPORT_PLAIN && x->trait == TRAIT_SIGN;
  return !matters || request_payload(L, index, payload, e);
}

/* core.other_transport(request, facts) -> nil, "signed", "plain", "proxy" or "neither", then nil, nil and the
 * form that the vehicle was shown to take, or nil; or "advice", kind, text and that form:
 * src/signing/transport.h. facts: sent, plain_refused, signed_refused, commands, has_key, trait, kind,
 * outcome, fault, outcome_unknown, idempotent. */
static int l_other_transport(lua_State *L) {
  static const char *const names[] = {NULL, "signed", "plain", "proxy", "neither", "advice"};
  struct err e;
  err_clear(&e);
  const struct request *request = box_check(L, 1, &request_type);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct transport_refusal x = refusal_at(L, 2, request->row);
  struct buf *payload = push_scratch(L);
  x.signable = is_signable(L, 1, &x, payload, &e);
  enum transport_next next = transport_next(&x);
  lua_pushstring(L, names[next]);
  if (next != FOLLOW_ADVICE) {
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushstring(L, transport_names[transport_shown(&x, next)]);
    return 4;
  }
  struct transport_advice advice = transport_advice(&x);
  lua_pushstring(L, kind_name(advice.text ? advice.kind : e.kind));
  lua_pushstring(L, advice.text ? advice.text : e.message);
  lua_pushstring(L, transport_names[transport_shown(&x, next)]);
  return 4;
}

/* ---- another message ---- */

/* core.recovery(kind, outcome, facts) -> nil, "sign" or "repeat", pause in seconds: src/signing/recovery.h */
static int l_recovery(lua_State *L) {
  static const char *const names[] = {NULL, "sign", "repeat"};
  luaL_checktype(L, 3, LUA_TTABLE);
  struct message_failure x = {.kind = kind_of(luaL_checkstring(L, 1)),
                              .outcome = outcome_of(luaL_optstring(L, 2, NULL)),
                              .from_vehicle = flag_member(L, 3, "fault"),
                              .final = flag_member(L, 3, "final"),
                              .resynced = flag_member(L, 3, "resynced"),
                              .stale = flag_member(L, 3, "stale"),
                              .expired = flag_member(L, 3, "expired"),
                              .signed_again = flag_member(L, 3, "signed_again"),
                              .idempotent = flag_member(L, 3, "idempotent"),
                              .other_keys = flag_member(L, 3, "other_keys"),
                              .repeats = (int)number_member(L, 3, "repeats", 0),
                              .retry_after = number_member(L, 3, "retry_after", 0),
                              .left = number_member(L, 3, "left", 0)};
  double pause = 0;
  lua_pushstring(L, names[recovery_next(&x, &pause)]);
  lua_pushnumber(L, pause);
  return 2;
}

void open_decisions(lua_State *L) {
  static const luaL_Reg functions[] = {{"transport_rule", l_transport_rule},
                                       {"other_transport", l_other_transport},
                                       {"recovery", l_recovery},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
