#include "bind/signing/commands.h"

#include "bind/call/arguments.h"
#include "bind/call/request.h"
#include "bind/crypto/context.h"
#include "bind/signing/context.h"
#include "signing/wire/codec.h"

#include <string.h>

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

static bool encode(lua_State *L, const struct arguments *a, struct buf *payload, struct err *e) {
  struct value values[MOST_PARAMS];
  uint64_t id = fresh_id(L);
  buf_clear(payload);
  signed_values(a, values);
  bool done = arguments_ok(a) && codec_encode(a->row, values, id, payload, e);
  wipe(values, sizeof values);
  arguments_check(L, a);
  return done;
}

bool command_payload(lua_State *L, const struct row *row, int params, struct buf *payload, struct err *e) {
  struct arguments a;
  if (!row->message) return codec_encode(row, NULL, 0, NULL, e);
  int top = lua_gettop(L);
  arguments_boxed(L, row, &a);
  a.message_only = true;
  if (params) arguments_params(L, params, &a);
  check_params(&a);
  arguments_check(L, &a);
  bool done = encode(L, &a, payload, e);
  box_close(L, top + 1);
  lua_settop(L, top);
  return done;
}

bool request_payload(lua_State *L, int index, struct buf *payload, struct err *e) {
  const struct request *command = box_check(L, index, &request_type);
  if (!command->row->message) return codec_encode(command->row, NULL, 0, NULL, e);
  struct arguments a = command->arguments;
  a.message_only = true;
  return encode(L, &a, payload, e);
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
