#include "bind/signing/commands.h"

#include "bind/call/params.h"
#include "bind/call/request.h"
#include "bind/crypto/context.h"
#include "bind/signing/context.h"
#include "signing/wire/codec.h"

#include <string.h>

enum { MOST_VALUES = 40 };

static const char rows_key; /* of the table of rows by name, so that a call does not search them */

const struct row *check_command(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING)
    usage_error(L, "command: a name expected, got %s", luaL_typename(L, index));
  lua_rawgetp(L, LUA_REGISTRYINDEX, &rows_key);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  const struct row *row = lua_touserdata(L, -1);
  lua_pop(L, 2);
  if (row) return row;
  const char *names[256];
  size_t count = 0;
  for (const struct row *r = command_rows; r->name && count < 256; r++) names[count++] = r->name;
  raise_unknown(L, "command", lua_tostring(L, index), names, count);
  return NULL;
}

/* Leaves the values that were given on the stack, because texts are views into them. */
static void read_values(const struct plan *p, struct value *values) {
  size_t i = 0;
  for (const struct param *q = p->row->params; q && q->name && i < MOST_VALUES; q++, i++) {
    values[i] = (struct value){0};
    if (q->place != IN_BODY) continue;
    luaL_checkstack(p->L, 8, NULL);
    if (push_param(p, q)) signed_value(p, q, lua_gettop(p->L), &values[i]);
  }
}

static bool encode(struct plan *p, struct buf *payload, struct err *e) {
  struct value values[MOST_VALUES];
  int top = lua_gettop(p->L);
  read_values(p, values); /* may call Lua, through a metatable of the parameters */
  buf_clear(payload);
  bool done = codec_encode(p->row, values, fresh_id(p->L), payload, e);
  wipe(values, sizeof values);
  lua_settop(p->L, top);
  return done;
}

bool command_payload(lua_State *L, const struct row *row, int params, struct buf *payload, struct err *e) {
  struct plan p = {.L = L, .row = row, .params = params};
  if (!row->message) return codec_encode(row, NULL, 0, NULL, e);
  check_table(&p);
  return encode(&p, payload, e);
}

bool request_payload(lua_State *L, int index, struct buf *payload, struct err *e) {
  const struct request *command = box_check(L, index, &request_type);
  struct plan p = {.L = L, .row = command->row};
  if (!p.row->message) return codec_encode(p.row, NULL, 0, NULL, e);
  if (lua_getiuservalue(L, index, REQUEST_PARAMS) == LUA_TTABLE) p.params = lua_gettop(L);
  bool done = encode(&p, payload, e);
  lua_pop(L, 1);
  return done;
}

bool signed_form_published(const struct row *row, struct err *e) {
  return !(row->flags & ROW_EITHER_FORM) ||
         err_set(e, KIND_unsupported,
                 "%s has no published signed form; unpublished = true gives the one that other clients send",
                 row->name);
}

/* fleet.command(name, params, { unpublished = }) -> { domain =, payload = }, or nil, err, "unsupported" where
 * there is no signed form, or none among the published messages and it was not asked for */
static int l_command(lua_State *L) {
  static const char *const option_names[] = {"unpublished"};
  struct err e;
  err_clear(&e);
  const struct row *row = check_command(L, 1);
  lua_settop(L, 3);
  if (!lua_isnil(L, 2)) expect_type(L, 2, LUA_TTABLE, "command: a table of parameters");
  if (!lua_isnil(L, 3)) expect_type(L, 3, LUA_TTABLE, "command: a table of options");
  check_options(L, 3, option_names, 1);
  bool unpublished = !lua_isnil(L, 3) && flag_member(L, 3, "unpublished");
  if (!unpublished && !signed_form_published(row, &e)) return push_failure(L, &e);
  struct buf *payload = push_scratch(L);
  if (!command_payload(L, row, lua_isnil(L, 2) ? 0 : 2, payload, &e))
    return e.kind == KIND_invalid ? usage_error(L, "%s", e.message) : push_failure(L, &e);
  lua_createtable(L, 0, 2);
  push_buf(L, payload);
  lua_setfield(L, -2, "payload");
  set_text(L, "domain", domain_name(row->domain));
  return 1;
}

/* core.check_signed_form(request) -> true, or nil, err, kind: these parameters have no signed form */
static int l_check_signed_form(lua_State *L) {
  struct err e;
  err_clear(&e);
  box_check(L, 1, &request_type);
  struct buf *payload = push_scratch(L);
  if (!request_payload(L, 1, payload, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static void keep_rows(lua_State *L) {
  lua_newtable(L);
  for (const struct row *r = command_rows; r->name; r++) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)r);
    lua_setfield(L, -2, r->name);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &rows_key);
}

void open_commands(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"command", l_command}, {"check_signed_form", l_check_signed_form}, {NULL, NULL}};
  keep_rows(L);
  luaL_setfuncs(L, functions, 0);
}
