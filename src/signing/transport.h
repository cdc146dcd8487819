/* Which way a vehicle command travels, and which way may follow where one was refused: pure functions of the
 * row, of the client's options and of what happened (doc/protocol.md#plain-or-signed).
 *
 * A refusal is followed by the other form only where the first certainly did nothing. A proxy knows the
 * published forms; ours knows the others as well, and is asked after the plain way.
 */
#ifndef FLEET_SIGNING_TRANSPORT_H
#define FLEET_SIGNING_TRANSPORT_H

#include "base/err.h"
#include "tables/rows.h"

/* The option `commands`. */
enum commands { COMMANDS_AUTO, COMMANDS_SIGNED, COMMANDS_PLAIN, COMMANDS_PROXY };
enum transport { TRANSPORT_NONE, TRANSPORT_SIGNED, TRANSPORT_PLAIN, TRANSPORT_PROXY };

struct transport_rule {
  enum transport transport; /* TRANSPORT_NONE: nothing can carry it */
  bool by_value;            /* signed only where the values have a place in the message, else plain */
  bool recall;              /* signed unless the vehicle is known to take plain commands */
  const char *why;          /* of TRANSPORT_NONE */
};

struct transport_rule transport_rule(const struct row *row, enum commands commands, bool has_key);

struct transport_refusal {
  const struct row *row;
  enum commands commands;
  bool has_key;
  bool signable;                      /* these values have a signed form */
  enum transport sent;                /* and refused */
  bool plain_refused, signed_refused; /* before it */
  enum trait trait;
  enum kind kind;
  enum outcome outcome;
  int fault;            /* 0: none */
  bool outcome_unknown; /* of a message before this one, or of this one */
  bool idempotent;
};

enum transport_next {
  FOLLOW_NOTHING,
  FOLLOW_SIGNED,
  FOLLOW_PLAIN,
  FOLLOW_PROXY,   /* which may know the command: the proxy of this project does */
  FOLLOW_NEITHER, /* the vehicle takes it in neither form, or the proxy does not sign it */
  FOLLOW_ADVICE   /* it takes signed commands only, and this client sends none */
};

enum transport_next transport_next(const struct transport_refusal *x);
/* The form that the vehicle takes, as far as the refusal shows it: to be remembered for its next command.
 * next: what follows. */
enum transport transport_shown(const struct transport_refusal *x, enum transport_next next);

struct transport_advice {
  enum kind kind;
  const char *text; /* NULL: what the values lack */
};

/* What would help after FOLLOW_ADVICE. */
struct transport_advice transport_advice(const struct transport_refusal *x);

#endif
