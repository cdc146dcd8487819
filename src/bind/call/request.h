/* One call, checked and written down: the row and the caller's arguments as a request target and a body.
 *
 * A request is a value: plan.c makes it, whoever carries it (libcurl, a host's own HTTP, the proxy) makes a
 * reply of it, and result.c turns that into a result. The body stays in C because it may hold a PIN; it is
 * wiped when the box goes.
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
  double timeout;  /* option, seconds, 0: the client's */
  bool idempotent; /* the row's, or the caller's word for it */
  bool strict, raw, wake, force, read_back;
  enum token_kind token_kind; /* option auth, TOKEN_END: the row's */
};

/* User value of a request box: the parameters as given, a table or nil. */
enum { REQUEST_PARAMS = 1 };

extern const struct box_type request_type;
extern const char *const token_kind_names[]; /* by enum token_kind; the first is NULL */

/* An empty request of a row, pushed. */
struct request *request_new(lua_State *L, const struct row *row);

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
