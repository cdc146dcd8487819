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

struct request {
  const struct row *row;
  const char *label;  /* what failures call it when it carries another row's command, or NULL */
  struct buf target;  /* path and query below the base address */
  struct buf body;    /* JSON, or empty */
  size_t planned;     /* size of target before request:query, 0: not called yet */
  bool query_follows; /* target has a query already */
  bool has_body;
  bool written;    /* target and body stand */
  double timeout;  /* option, seconds, 0: the client's */
  bool idempotent; /* the row's, or the caller's word for it */
  bool strict, raw, wake, force, read_back;
  enum token_kind token_kind; /* option auth, TOKEN_END: the row's */
};

/* User values of a request box: the parameters as given, a table or nil; the handle of one that is not
 * written. */
enum { REQUEST_PARAMS = 1, REQUEST_HANDLE = 2 };

extern const struct box_type request_type;
extern const char *const token_kind_names[]; /* by enum token_kind; the first is NULL */

/* An empty request of a row, pushed. */
struct request *request_new(lua_State *L, const struct row *row);

/* The request at index with target and body. */
const struct request *check_written(lua_State *L, int index);

static inline const char *request_name(const struct request *r) {
  return r->label ? r->label : r->row->name;
}

static inline bool row_is_write(const struct row *row) {
  return row->verb[0] != 'G' && !(row->flags & ROW_READ);
}

static inline bool request_is_write(const struct request *r) {
  return row_is_write(r->row);
}

#endif
