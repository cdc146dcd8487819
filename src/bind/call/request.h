/* One call, checked: the row and the caller's arguments, and as a request target and a body what it is on the
 * wire.
 *
 * A request is a value: plan.c makes it, its transport (libcurl, a host's own HTTP, the proxy) makes a
 * reply of it, and result.c turns that into a result. What may be signed is written only when it goes in
 * plain form. The body stays in C because it may hold a PIN; it is wiped when the box goes.
 */
#ifndef FLEET_BIND_REQUEST_H
#define FLEET_BIND_REQUEST_H

#include "bind/lua/bind.h"
#include "call/arguments.h"

struct request {
  const struct row *row;
  const char *label;  /* what failures call it when it carries another row's command, or NULL */
  struct buf target;  /* path and query below the base address */
  struct buf body;    /* JSON, or empty */
  size_t planned;     /* size of target before request:query, 0: not called yet */
  bool query_follows; /* target has a query already */
  bool has_body;
  bool written; /* target and body stand */
  struct call_options options;
  struct arguments arguments; /* while its form is open: of a command, or before it is written */
  struct arena *arena;        /* which they are in; owned, NULL: there are none */
  struct buf error;
};

/* The user value of a request box: the parameters as given, a table or nil. */
enum { REQUEST_PARAMS = 1 };

extern const struct box_type request_type;

/* An empty request of a row, pushed. */
struct request *request_new(lua_State *L, const struct row *row);

/* Starts to read its arguments. */
struct arguments *request_arguments(lua_State *L, struct request *r);
/* Target and body are complete; raises for a mistake in them. Only the arguments of a command are kept. */
void request_written(lua_State *L, struct request *r);
/* The request at index with target and body, which are written now where its form was open. */
const struct request *check_written(lua_State *L, int index);

static inline const char *request_name(const struct request *r) {
  return r->label ? r->label : r->row->name;
}

static inline bool request_is_write(const struct request *r) {
  return row_is_write(r->row);
}

#endif
