/* What the files of src/signing decide about commands, for the Lua that carries it out. */
#include "base/reason.h"
#include "bind/call/params.h"
#include "bind/call/request.h"
#include "bind/signing/commands.h"
#include "signing/recovery.h"
#include "signing/transport.h"

#include <string.h>

static const char *const commands_names[] = {"auto", "signed", "plain", "proxy", NULL};
static const char *const transport_names[] = {NULL, "signed", "plain", "proxy"};

static void set_fact(lua_State *L, const char *name, bool value) {
  set_boolean(L, name, value);
}

/* core.transport_rule(row, option commands, has_key) -> { transport = "signed" | "plain" | "proxy" or nil,
 * by_value =, recall =, why = }: src/signing/transport.h */
static int l_transport_rule(lua_State *L) {
  const struct row *row = row_at(L, 1);
  enum commands commands = (enum commands)luaL_checkoption(L, 2, NULL, commands_names);
  struct transport_rule rule = transport_rule(row, commands, lua_toboolean(L, 3));
  lua_createtable(L, 0, 4);
  set_fact(L, "by_value", rule.by_value);
  set_fact(L, "recall", rule.recall);
  set_text(L, "transport", transport_names[rule.transport]);
  set_text(L, "why", rule.why);
  return 1;
}

/* ---- facts in a table ---- */

static bool fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static double number_fact(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  double value = luaL_optnumber(L, -1, 0);
  lua_pop(L, 1);
  return value;
}

/* The place of a text among names, from 1 on where the first is NULL; 0 for any other. */
static int fact_among(lua_State *L, int index, const char *name, const char *const *names, int count) {
  int found = 0;
  lua_getfield(L, index, name);
  const char *text = lua_tostring(L, -1);
  for (int i = 0; text && i < count; i++)
    if (names[i] && strcmp(names[i], text) == 0) found = i;
  lua_pop(L, 1);
  return found;
}

static enum outcome outcome_fact(lua_State *L, int index) {
  lua_getfield(L, index, "outcome");
  enum outcome outcome = outcome_of(lua_tostring(L, -1));
  lua_pop(L, 1);
  return outcome;
}

static enum kind kind_fact(lua_State *L, int index) {
  lua_getfield(L, index, "kind");
  const char *word = lua_tostring(L, -1);
  enum kind kind = word ? kind_of(word) : KIND_none;
  lua_pop(L, 1);
  return kind;
}

/* ---- the other way ---- */

static struct transport_refusal refusal_at(lua_State *L, int index, const struct row *row) {
  static const char *const trait_names[] = {NULL, "by_state", "sign", "plain"};
  return (struct transport_refusal){.row = row,
                                    .commands =
                                        (enum commands)fact_among(L, index, "commands", commands_names, 4),
                                    .has_key = fact(L, index, "has_key"),
                                    .sent = (enum transport)fact_among(L, index, "sent", transport_names, 4),
                                    .plain_refused = fact(L, index, "plain_refused"),
                                    .signed_refused = fact(L, index, "signed_refused"),
                                    .trait = (enum trait)fact_among(L, index, "trait", trait_names, 4),
                                    .kind = kind_fact(L, index),
                                    .outcome = outcome_fact(L, index),
                                    .fault = (int)number_fact(L, index, "fault"),
                                    .outcome_unknown = fact(L, index, "outcome_unknown"),
                                    .idempotent = fact(L, index, "idempotent")};
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
                              .from_vehicle = fact(L, 3, "fault"),
                              .final = fact(L, 3, "final"),
                              .resynced = fact(L, 3, "resynced"),
                              .stale = fact(L, 3, "stale"),
                              .expired = fact(L, 3, "expired"),
                              .signed_again = fact(L, 3, "signed_again"),
                              .idempotent = fact(L, 3, "idempotent"),
                              .other_keys = fact(L, 3, "other_keys"),
                              .repeats = (int)number_fact(L, 3, "repeats"),
                              .retry_after = number_fact(L, 3, "retry_after"),
                              .left = number_fact(L, 3, "left")};
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
