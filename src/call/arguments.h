/* The arguments of a call, as trees of values: checks them against the row, and writes the plain request or
 * the values of a signed command. Arguments from a Lua table and from JSON text pass the same checks.
 *
 * A mistake of the caller is sticky: the first one stays in error, output after it is incomplete, and
 * arguments_ok reports it.
 */
#ifndef FLEET_CALL_ARGUMENTS_H
#define FLEET_CALL_ARGUMENTS_H

#include "base/value.h"
#include "crypto/context.h"
#include "signing/wire/codec.h"
#include "tables/rows.h"

struct arguments {
  const struct row *row;
  const struct node *path;     /* an object: placeholder -> value */
  const struct node *params;   /* an object: name -> value; NULL: none */
  const struct node *options;  /* of the call, likewise */
  struct bytes id;             /* of the handle: the value of the parameter that it implies */
  const struct param *encoded; /* a TYPE_OBJECT or TYPE_TARIFF that wrote its own JSON, or NULL */
  struct bytes json;           /* that JSON */
  double wall;                 /* UTC seconds, for parameters whose default is the current time */
  uint64_t fresh_id;           /* for a parameter that no other call may share */
  struct crypto *crypto;       /* for public keys; NULL where the row has none */
  bool force;                  /* accept unpublished values */
  bool message_only;           /* only a message is made: it may lack a time of day, as in published tools */
  struct arena *arena;         /* for new nodes */
  struct buf *error;           /* a sentence for the caller, empty while there is no mistake */
};

bool arguments_ok(const struct arguments *a); /* false: a mistake, or out of memory, when error is empty */
/* Both return false. mistake: "method: sentence". */
bool mistake(const struct arguments *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool unknown_name(const struct arguments *a, const char *what, struct bytes name, const char *const *names,
                  size_t count);
/* The JSON of a table; lists: members that are lists even when they are empty. */
void table_json(const struct arguments *a, const struct node *value, const char *lists, struct buf *out);

/* ---- one value (argument.c) ---- */

/* As written in a path or a query, before percent-encoding. */
void plain_value(const struct arguments *a, const struct param *q, const struct node *value, struct buf *out);
/* As written in the body. */
void json_value(const struct arguments *a, const struct param *q, const struct node *value, struct buf *out);
/* As written in a signed command. Texts are views of the value, or of the arena. */
void signed_value(const struct arguments *a, const struct param *q, const struct node *value,
                  struct value *out);
unsigned days_value(const struct arguments *a, const struct param *q, const struct node *value);
void days_text(struct buf *out, unsigned bits); /* in the form of a request: "Mon,Wed", "All" */
/* "'x' must be a string, got …" unless it is one. */
struct bytes text_value(const struct arguments *a, const struct param *q, const struct node *value);

/* ---- a decoded command (decoded.c) ---- */

/* The values as an object of the plain request. Texts are views of the values, or of the arena. */
struct node *plain_params(struct arena *a, const struct row *row, const struct value *values);

/* ---- all of them (arguments.c) ---- */

/* Whether the handle of a row knows this parameter: it is then neither an argument nor in the table. */
bool handle_implies(const struct row *row, const struct param *q);
bool takes_params(const struct row *row); /* whether its method has a table of parameters */
/* The parameter of the next placeholder of a row's path, from *at on, which is moved behind it; NULL: no
 * more. */
const struct param *next_placeholder(const struct row *row, const char **at);

/* Names that are unknown, and flags that exclude each other. */
void check_params(const struct arguments *a);
/* The checked values outside the path, as an object. */
struct node *take_params(const struct arguments *a);
void write_path(const struct arguments *a, struct buf *target);
/* Query and body. True: the target has a query. */
bool write_content(const struct arguments *a, struct buf *target, struct buf *body, bool *has_body);
enum { MOST_PARAMS = 40 };
/* In the order of row->params. */
void signed_values(const struct arguments *a, struct value values[MOST_PARAMS]);

/* ---- options of the call (options.c) ---- */

struct call_options {
  double timeout;             /* seconds, 0: the client's */
  enum token_kind token_kind; /* option auth, TOKEN_END: the row's */
  bool idempotent;            /* the row's, or the caller's word for it */
  bool strict, raw, wake, force, read_back;
};

extern const char *const token_kind_names[]; /* by enum token_kind; the first is NULL */

bool row_is_write(const struct row *row); /* a failure has an outcome */
/* Whether an option of a call says anything for calls of the row. */
bool option_concerns(const struct option *o, const struct row *row);
/* An option without effect for the row is a mistake: the caller relies on it. */
void read_call_options(const struct arguments *a, struct call_options *out);

#endif
