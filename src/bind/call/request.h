/* A checked call: its row, its arguments, and the request target and body to send.
 *
 * plan.c makes it, the transport (libcurl, a host's own HTTP, the proxy) sends it, and result.c turns the
 * reply into a result. Target and body of a command that may be signed are written only when it is sent in
 * plain form. The body stays in C because it may hold a PIN; it is wiped when the box is freed.
 */
#ifndef FLEET_BIND_REQUEST_H
#define FLEET_BIND_REQUEST_H

#include "bind/lua/bind.h"
#include "call/arguments.h"

struct request {
  const struct row *row;
  const char *label;  /* its name in failures if it carries another row's command, else NULL */
  struct buf target;  /* path and query below the base address */
  struct buf body;    /* JSON, or empty */
  size_t planned;     /* size of target before request:query, 0: not called yet */
  bool query_follows; /* target has a query already */
  bool has_body;
  bool written; /* target and body are complete */
  struct call_options options;
  struct arguments arguments; /* until target and body are written; a command keeps them */
  struct arena *arena;        /* of the arguments; owned, NULL: none */
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
/* The request at index. Writes target and body now if they were not written yet. */
const struct request *check_written(lua_State *L, int index);

static inline const char *request_name(const struct request *r) {
  return r->label ? r->label : r->row->name;
}

static inline bool request_is_write(const struct request *r) {
  return row_is_write(r->row);
}

#endif
