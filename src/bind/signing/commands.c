#include "bind/call/params.h"
#include "bind/call/request.h"
#include "bind/signing/session.h"
#include "signing/wire/command_result.h"
#include "signing/wire/codec.h"
#include "signing/wire/reflect.h"

#include <string.h>

enum { MOST_VALUES = 40 };

/* ---- fleet.command ---- */

/* The row of the command named at index; the table of names is the upvalue, so that a call does not search
 * the rows. */
static const struct row *check_command(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TSTRING);
  lua_pushvalue(L, index);
  lua_rawget(L, lua_upvalueindex(1));
  const struct row *row = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (row) return row;
  const char *names[256];
  size_t count = 0;
  for (const struct row *r = command_rows; r->name && count < 256; r++) names[count++] = r->name;
  raise_unknown(L, "command", lua_tostring(L, index), names, count);
  return NULL;
}

/* Leaves the values that were given on the stack, because texts are views into them. */
static void read_values(const struct plan *p, struct value *values) {
  check_names(p);
  size_t i = 0;
  for (const struct param *q = p->row->params; q && q->name && i < MOST_VALUES; q++, i++) {
    values[i] = (struct value){0};
    if (q->place != IN_BODY) continue;
    luaL_checkstack(p->L, 8, NULL);
    if (push_param(p, q)) signed_value(p, q, lua_gettop(p->L), &values[i]);
  }
}

static int push_command(lua_State *L, enum domain domain, struct buf *payload) {
  lua_createtable(L, 0, 2);
  push_whole(L, payload);
  lua_setfield(L, -2, "payload");
  lua_pushstring(L, domain_name(domain));
  lua_setfield(L, -2, "domain");
  return 1;
}

bool command_payload(lua_State *L, const struct row *row, int params, struct buf *payload, struct err *e) {
  struct value values[MOST_VALUES];
  struct plan p = {.L = L, .row = row, .params = params};
  if (!row->message) return codec_encode(row, NULL, 0, NULL, e);
  int top = lua_gettop(L);
  read_values(&p, values);
  bool done = codec_encode(row, values, system_wall_clock(), payload, e);
  wipe(values, sizeof values);
  lua_settop(L, top);
  return done;
}

static bool unpublished_option(lua_State *L, int index) {
  static const char *const names[] = {"unpublished"};
  if (lua_isnil(L, index)) return false;
  check_options(L, index, names, 1);
  lua_getfield(L, index, names[0]);
  bool wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return wanted;
}

/* fleet.command(name, params, { unpublished = }) -> { domain =, payload = }, or nil, err, "unsupported" where
 * there is no signed form, or none among the published messages and it was not asked for */
static int l_command(lua_State *L) {
  struct err e = ERR_INIT;
  const struct row *row = check_command(L, 1);
  lua_settop(L, 3);
  if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
  if (row->flags & ROW_EITHER_FORM && !unpublished_option(L, 3))
    return err_set(
               &e, KIND_unsupported,
               "%s has no signed form among the published messages; unpublished = true gives the one that "
               "other clients send",
               row->name),
           push_failure(L, &e);
  struct buf *payload = push_scratch(L);
  if (!command_payload(L, row, lua_isnil(L, 2) ? 0 : 2, payload, &e)) return push_failure(L, &e);
  return push_command(L, row->domain, payload);
}

/* ---- back ---- */

static void push_day_words(lua_State *L, unsigned bits) {
  struct buf *text = push_scratch(L);
  days_text(text, bits);
  push_buf(L, text);
  lua_remove(L, -2);
}

static void push_object(lua_State *L, const char *member, struct bytes text) {
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, (const char *)text.data, text.size);
  lua_setfield(L, -2, member);
}

/* As it would stand in the plain body, so that one reader serves both forms. */
static void push_value(lua_State *L, const struct param *q, const struct value *v) {
  if (v->choice && v->choice->text)
    lua_pushstring(L, v->choice->text);
  else if (v->choice)
    lua_pushinteger(L, (lua_Integer)v->choice->number);
  else if (q->type == TYPE_BOOLEAN)
    lua_pushboolean(L, v->boolean);
  else if (q->type == TYPE_OBJECT)
    push_object(L, q->member, v->text);
  else if (q->type == TYPE_STRING)
    lua_pushlstring(L, (const char *)v->text.data, v->text.size);
  else if (q->type == TYPE_DAYS)
    push_day_words(L, (unsigned)v->integer);
  else if (q->type == TYPE_ID && v->integer <= INT64_MAX)
    lua_pushinteger(L, (lua_Integer)v->integer);
  else if (q->type == TYPE_INTEGER)
    lua_pushinteger(L, (lua_Integer)v->number);
  else
    lua_pushnumber(L, v->number);
}

struct decoding {
  struct arena arena;
  struct value values[DECODE_MAX];
};

static void release_decoding(void *object) {
  struct decoding *d = object;
  wipe(d->values, sizeof d->values);
  arena_end(&d->arena);
}

static const struct box_type decoding_type = {"fleet.decoding", release_decoding, NULL, NULL};

static void push_values(lua_State *L, const struct row *row, const struct value *values) {
  lua_newtable(L);
  for (size_t i = 0; i < DECODE_MAX && row->params && row->params[i].name; i++) {
    if (!values[i].given) continue;
    push_value(L, &row->params[i], &values[i]);
    lua_setfield(L, -2, row->params[i].name);
  }
}

/* The same command for further seats, as a list of parameters; nil when there are none. */
static void push_further(lua_State *L, enum domain domain, struct bytes payload, struct decoding *d) {
  struct err none = ERR_INIT;
  const struct row *row;
  lua_pushnil(L);
  for (lua_Integer at = 1; (row = codec_decode(domain, payload, (size_t)at, &d->arena, d->values, &none));
       at++) {
    if (at == 1) lua_pop(L, 1), lua_newtable(L);
    push_values(L, row, d->values);
    lua_seti(L, -2, at);
  }
}

/* fleet.decode_command(domain, payload) -> name, params, further params or nil; or nil, err, kind */
static int l_decode_command(lua_State *L) {
  struct err e = ERR_INIT;
  enum domain domain = check_domain(L, 1);
  struct bytes payload = check_bytes(L, 2);
  struct decoding *d = box_new(L, &decoding_type, sizeof *d, 0);
  arena_start(&d->arena, 4 * (size_t)100000);
  box_open(L, -1);
  int box = lua_gettop(L);
  const struct row *row = codec_decode(domain, payload, 0, &d->arena, d->values, &e);
  if (!row) return box_close(L, box), push_failure(L, &e);
  lua_pushstring(L, row->name);
  push_values(L, row, d->values);
  push_further(L, domain, payload, d);
  box_close(L, box);
  return 3;
}

/* core.message_json(type, payload) -> JSON text; type: "CarServer.Response", "VCSEC.FromVCSECMessage",
 * "CarServer.Action" … */
static int l_message_json(lua_State *L) {
  struct err e = ERR_INIT;
  const char *type = luaL_checkstring(L, 1);
  struct bytes payload = check_bytes(L, 2);
  struct buf *json = push_scratch(L);
  if (!members_json(type, payload, json, &e)) return push_failure(L, &e);
  push_buf(L, json);
  return 1;
}

/* core.read_answer(domain, payload, authenticated, "wait"|"error"|nil, name) -> true, or nil, err, kind:
 * doc/protocol.md#vehicle-answers */
static int l_read_answer(lua_State *L) {
  static const char *const words[] = {"ok", "wait", "error", NULL};
  struct err e = ERR_INIT;
  struct answer_facts f = {check_domain(L, 1), check_bytes(L, 2), lua_toboolean(L, 3),
                           (uint32_t)luaL_checkoption(L, 4, "ok", words)};
  if (!answer_read(&f, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static int encode_member(lua_State *L, struct members *m, struct err *e) {
  const char *path = lua_tostring(L, -2);
  bool ok;
  if (lua_isboolean(L, -1))
    ok = members_number(m, path, lua_toboolean(L, -1), e);
  else if (lua_type(L, -1) == LUA_TNUMBER)
    ok = members_number(m, path, lua_tonumber(L, -1), e);
  else if (lua_type(L, -1) == LUA_TSTRING)
    ok = members_text(m, path, check_bytes(L, -1), e);
  else
    ok = lua_istable(L, -1) && members_message(m, path, e);
  return ok;
}

static void release_members(void *object) {
  members_end(object);
}

static const struct box_type members_type = {"fleet.members", release_members, NULL, NULL};

/* core.encode_message(type, { ["path.of.member"] = value }) -> bytes; a value {} makes a message present.
 * Enums by name or number. The inverse of message_json for whoever plays a vehicle. */
static int l_encode_message(lua_State *L) {
  struct err e = ERR_INIT;
  const char *type = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  struct members *m = box_new(L, &members_type, sizeof *m, 0);
  bool ok = members_start(m, type, &e);
  box_open(L, -1);
  for (lua_pushnil(L); ok && lua_next(L, 2);) {
    if (lua_type(L, -2) != LUA_TSTRING) return luaL_error(L, "members are given by their paths");
    ok = encode_member(L, m, &e);
    lua_pop(L, 1);
  }
  struct buf *out = push_scratch(L);
  if (!ok || !members_write(m, out, &e)) return luaL_error(L, "%s", e.message);
  push_buf(L, out);
  return 1;
}

/* core.check_signed_form(request) -> true, or nil, err, kind: these parameters have no signed form */
static int l_check_signed_form(lua_State *L) {
  struct err e = ERR_INIT;
  const struct request *command = box_check(L, 1, &request_type);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, REQUEST_PARAMS);
  struct buf *payload = push_scratch(L);
  if (!command_payload(L, command->row, lua_istable(L, 2) ? 2 : 0, payload, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static void push_names(lua_State *L) {
  lua_newtable(L);
  for (const struct row *r = command_rows; r->name; r++) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)r);
    lua_setfield(L, -2, r->name);
  }
}

void open_commands(lua_State *L) {
  static const luaL_Reg functions[] = {{"decode_command", l_decode_command},
                                       {"message_json", l_message_json},
                                       {"read_answer", l_read_answer},
                                       {"encode_message", l_encode_message},
                                       {"check_signed_form", l_check_signed_form},
                                       {NULL, NULL}};
  box_define(L, &decoding_type);
  box_define(L, &members_type);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
  push_names(L);
  lua_pushcclosure(L, l_command, 1);
  lua_setfield(L, -2, "command");
}
