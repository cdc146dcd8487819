/* What the service says about a failure, and the sentence that an err carries.
 *
 * Error bodies come in several published forms; the sentence names the call, what was said, the status, and
 * what a person can do about it.
 */
#ifndef FLEET_BIND_FAILURE_H
#define FLEET_BIND_FAILURE_H

#include "bind/call/reply.h"

struct error_body { /* points into strings of the decoded body, which stays on the stack */
  const char *error, *description, *reason;
  bool refused; /* response.result is false */
};

/* A member that is a text with something in it, or NULL; it stays alive with the table. */
const char *string_field(lua_State *L, int table, const char *name);
struct error_body read_error_body(lua_State *L, int body);
/* The reason of { result, reason }; proxies of before 2025-03 call it `string`. NULL: none. */
const char *reason_member(lua_State *L, int table);
struct verdict;
/* The message and the reason of a failed exchange. */
void compose_failure(struct err *e, const char *name, const struct http_response *r,
                     const struct error_body *s, const struct verdict *v);

#endif
