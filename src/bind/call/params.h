/* One argument of a call: checked against its parameter row, and written as text or as JSON.
 *
 * What the caller gets wrong raises here, with the caller's own line, the parameter's name and what it takes
 * instead.
 */
#ifndef FLEET_BIND_PARAMS_H
#define FLEET_BIND_PARAMS_H

#include "bind/call/request.h"
#include "signing/wire/codec.h"

/* What the engines share while they walk one row. */
struct plan {
  lua_State *L;
  const struct row *row;
  struct request *request;
  int box, handle;       /* stack indices */
  int params, options;   /* stack indices, 0: not given */
  const char *separator; /* before the next member of the body or the query */
};

/* Raise with the line of the caller's own code and the name of the method. */
int call_usage_error(const struct plan *p, const char *format, ...);
int unknown_name(const struct plan *p, const char *what, const char *name, const char *const *names,
                 size_t count);

/* The value as written in a path or a query, before percent-encoding. */
void plain_text(const struct plan *p, const struct param *q, int index, struct buf *out);
/* The value as written in the body. */
void json_value(const struct plan *p, const struct param *q, int index, struct buf *out);
/* The value as written in a signed command. Texts are views, valid while the Lua value is on the stack. */
void signed_value(const struct plan *p, const struct param *q, int index, struct value *out);

void days_text(struct buf *out, unsigned bits); /* as the wire says it: "Mon,Wed", "All" */

/* The row that core.row gave (plan.c); anything else raises. */
const struct row *row_at(lua_State *L, int index);
const struct param *param_named(const struct row *row, const char *name, size_t size); /* NULL: none */

enum { MOST_PARAMS = 40 };

bool in_param_table(const struct plan *p, const struct param *q);
/* The names that may stand in the table of parameters; returns how many. */
size_t param_names(const struct plan *p, const char **names);
void check_any(const struct plan *p, size_t given); /* whether the row is content with so many parameters */

/* The plain form of the call (write.c): the path, whose further values are the arguments from *argument on;
 * then query and body. */
void write_path(struct plan *p, int *argument);
void write_content(struct plan *p);

/* The table of parameters against the row (param_table.c): unknown names raise, and so does a parameter that
 * is missing. */
void check_table(const struct plan *p);
bool push_param(const struct plan *p,
                const struct param *q); /* pushes the value, true; pushes nothing, false */

#endif
