/* The userdata of a request, shared by all files that make or read one; request.c registers its methods. */
#include "bind/call/request.h"

const char *const token_kind_names[] = {NULL, "user", "partner", "business"};

static void release_request(void *object) {
  struct request *r = object;
  buf_free(&r->target);
  buf_free(&r->body);
}

static int l_request_tostring(lua_State *L) {
  const struct request *r = box_any(L, 1, &request_type);
  lua_pushfstring(L, "fleet.request (%s %s)", r->row->verb, r->row->path);
  return 1;
}

static const luaL_Reg request_metamethods[] = {{"__tostring", l_request_tostring}, {NULL, NULL}};
const struct box_type request_type = {"fleet.request", release_request, NULL, request_metamethods};

struct request *request_new(lua_State *L, const struct row *row) {
  struct request *r = box_new(L, &request_type, sizeof *r, 2);
  box_open(L, -1);
  r->row = row;
  return r;
}
