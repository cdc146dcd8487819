/* The transport of a vehicle command, and the next one after a refusal: doc/protocol.md#plain-or-signed.
 * Pure.
 *
 * The other form follows only if the refused one certainly did nothing. A proxy knows the published commands.
 * The proxy of this project knows the others too, and gets them after a refused plain request.
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
  bool by_value;            /* signed only if the message has fields for the values, else plain */
  bool recall;              /* signed unless the vehicle is known to take plain commands */
  const char *why;          /* of TRANSPORT_NONE */
};

struct transport_rule transport_rule(const struct row *row, enum commands commands, bool has_key);

struct transport_refusal {
  const struct row *row;
  enum commands commands;
  bool has_key;
  bool signable;                      /* these values have a signed form */
  enum transport sent;                /* the transport that was refused */
  bool plain_refused, signed_refused; /* before it */
  enum trait trait;
  enum kind kind;
  enum outcome outcome;
  int fault;            /* 0: none */
  bool outcome_unknown; /* of this message or one before it */
  bool idempotent;
};

enum transport_next {
  FOLLOW_NOTHING,
  FOLLOW_SIGNED,
  FOLLOW_PLAIN,
  FOLLOW_PROXY,   /* the proxy may know the command: the one of this project does */
  FOLLOW_NEITHER, /* the vehicle accepts neither form, or the proxy does not sign it */
  FOLLOW_ADVICE   /* the vehicle accepts only signed commands, and this client sends none */
};

enum transport_next transport_next(const struct transport_refusal *x);
/* The form that the vehicle accepts, if the refusal shows it: the client remembers it for the next command.
 * next: what follows. */
enum transport transport_shown(const struct transport_refusal *x, enum transport_next next);

struct transport_advice {
  enum kind kind;
  const char *text; /* NULL: what the values lack */
};

/* The error and what to do about it, after FOLLOW_ADVICE. */
struct transport_advice transport_advice(const struct transport_refusal *x);

#endif
