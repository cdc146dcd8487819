#include "signing/transport.h"

#include <stddef.h>

/* Faults of a vehicle that does not know the signed command: doc/protocol.md#protocol-faults. */
enum { FAULT_INVALID_DOMAINS = 8, FAULT_INVALID_COMMAND = 9 };

static bool is(const struct row *row, unsigned flag) {
  return (row->flags & flag) != 0;
}

/* ---- the choice ---- */

static struct transport_rule with_key(const struct row *row, enum commands commands) {
  struct transport_rule rule = {.transport = TRANSPORT_SIGNED};
  if (commands == COMMANDS_PLAIN || is(row, ROW_PLAIN_FIRST) || !row->message) {
    rule.transport = TRANSPORT_PLAIN;
    return rule;
  }
  rule.by_value = is(row, ROW_EITHER_FORM);
  rule.recall = commands == COMMANDS_AUTO && !is(row, ROW_NEEDS_PROTOCOL);
  return rule;
}

struct transport_rule transport_rule(const struct row *row, enum commands commands, bool has_key) {
  struct transport_rule rule = {.transport = TRANSPORT_PLAIN};
  if (commands == COMMANDS_PROXY) {
    if (row->message && !is(row, ROW_EITHER_FORM)) rule.transport = TRANSPORT_PROXY;
    return rule;
  }
  if (has_key) return with_key(row, commands);
  if (commands == COMMANDS_SIGNED)
    rule = (struct transport_rule){.transport = TRANSPORT_NONE, .why = "commands = \"signed\" needs a key"};
  return rule;
}

/* ---- after a refusal ---- */

static bool plain_may_follow(const struct transport_refusal *x) {
  bool either = is(x->row, ROW_EITHER_FORM);
  if (x->outcome_unknown && !x->idempotent) return false;
  if (x->trait == TRAIT_PLAIN)
    return (x->commands == COMMANDS_AUTO || either) && !is(x->row, ROW_NEEDS_PROTOCOL);
  bool unknown = x->fault == FAULT_INVALID_DOMAINS || x->fault == FAULT_INVALID_COMMAND;
  return either && unknown && x->outcome != OUTCOME_UNKNOWN;
}

static bool signed_may_follow(const struct transport_refusal *x) {
  if (!x->has_key || !x->signable) return false;
  return x->commands == COMMANDS_AUTO || (x->commands == COMMANDS_SIGNED && is(x->row, ROW_EITHER_FORM));
}

/* The vehicle wants it signed, and the proxy refused it as a request that it does not know. */
static bool proxy_declines(const struct transport_refusal *x) {
  if (!x->plain_refused || x->outcome_unknown || x->outcome == OUTCOME_UNKNOWN) return false;
  return x->trait == TRAIT_SIGN || x->kind == KIND_invalid || x->kind == KIND_not_found ||
         x->kind == KIND_unsupported;
}

enum transport_next transport_next(const struct transport_refusal *x) {
  if (x->sent == TRANSPORT_PROXY) return proxy_declines(x) ? FOLLOW_NEITHER : FOLLOW_NOTHING;
  if (x->sent == TRANSPORT_SIGNED) {
    if (!plain_may_follow(x)) return FOLLOW_NOTHING;
    return x->plain_refused ? FOLLOW_NEITHER : FOLLOW_PLAIN;
  }
  if (x->sent != TRANSPORT_PLAIN || x->trait != TRAIT_SIGN) return FOLLOW_NOTHING;
  if (x->signed_refused && is(x->row, ROW_EITHER_FORM)) return FOLLOW_NEITHER;
  if (x->commands == COMMANDS_PROXY && x->signable && is(x->row, ROW_EITHER_FORM)) return FOLLOW_PROXY;
  return signed_may_follow(x) ? FOLLOW_SIGNED : FOLLOW_ADVICE;
}

enum transport transport_shown(const struct transport_refusal *x, enum transport_next next) {
  if (x->sent == TRANSPORT_SIGNED) {
    bool plain = x->trait == TRAIT_PLAIN && x->commands == COMMANDS_AUTO && !x->plain_refused;
    return plain ? TRANSPORT_PLAIN : TRANSPORT_NONE;
  }
  /* These values have no signed form, but the client's next ones may. */
  bool will_sign = next == FOLLOW_ADVICE && x->has_key && x->commands == COMMANDS_AUTO;
  bool shown = (next == FOLLOW_SIGNED || will_sign) && !is(x->row, ROW_PLAIN_FIRST);
  return shown ? TRANSPORT_SIGNED : TRANSPORT_NONE;
}

struct transport_advice transport_advice(const struct transport_refusal *x) {
  struct transport_advice advice = {KIND_unsupported, NULL};
  if (!x->row->message) {
    advice.text = "this command has no signed form";
  } else if (!x->signable) {
    return advice;
  } else if (x->commands == COMMANDS_PROXY) {
    advice.text =
        "the proxy does not know this command; with a key and commands = \"auto\" it is signed here";
  } else {
    advice.kind = KIND_key_not_paired;
    advice.text = x->has_key ? "commands = \"plain\" forbids that; use \"auto\""
                             : "set a key, which the owner adds at the address of client:pairing_url";
  }
  return advice;
}
