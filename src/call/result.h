/* What a reply means for its call: the value that its row promises, or why the call failed. */
#ifndef FLEET_CALL_RESULT_H
#define FLEET_CALL_RESULT_H

#include "base/value.h"
#include "http/outcome.h"

struct asked { /* the call */
  const struct row *row;
  const char *name; /* what failures call it */
  bool strict, raw; /* its options */
  bool proxied;     /* a signing proxy answers */
  enum vehicle_state state;
  double wall; /* UTC seconds */
};

struct result {
  const struct node *value; /* of a success; bytes are a NODE_TEXT. In the arena, with views of the reply */
  struct err err;           /* of a failure */
  bool transient;           /* the fault may be gone on another try */
  enum trait trait;
};

/* Whether the call succeeded. */
bool result_read(const struct asked *asked, const struct http_response *reply, struct arena *a,
                 struct result *out);

/* The error text of a body, where JSON may write a slash as "\/"; else the body as it is. */
struct bytes result_error_text(struct arena *a, struct bytes body);

#endif
