#include "bind/crypto/context.h"
#include "bind/store/counters.h"
#include "store/store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct box_type records_type, lease_type, ticket_type;

/* ---- arguments ---- */

static uint64_t check_milliseconds(lua_State *L, int index) {
  lua_Number seconds = luaL_optnumber(L, index, 0);
  if (!(seconds > 0)) return 0;
  return seconds > (double)NUMBER_LIMIT / 1000 ? NUMBER_LIMIT : (uint64_t)(seconds * 1000);
}

/* A generation that no record has stands for what is no whole number. */
static uint64_t check_generation(lua_State *L, int index) {
  lua_Number n = luaL_optnumber(L, index, 0);
  return n >= 0 && n <= (double)NUMBER_LIMIT && floor(n) == n ? (uint64_t)n : UINT64_MAX;
}

/* What was opened before a fork belongs to the parent. */
static bool is_child(long pid, struct err *e) {
  return pid != (long)getpid() &&
         !err_set(e, KIND_closed, "it was opened before a fork: open the store again");
}

/* ---- results ---- */

static void give_notice(lua_State *L, struct store *s, int box) {
  char text[sizeof s->notice];
  if (!s->notice[0]) return;
  memcpy(text, s->notice, sizeof text);
  s->notice[0] = '\0';
  if (lua_getiuservalue(L, box, 1) != LUA_TFUNCTION) return lua_pop(L, 1);
  lua_pushstring(L, text);
  lua_call(L, 1, 0);
}

/* false: somebody else writes at this moment; call again. */
static int push_result(lua_State *L, enum store_result result, const struct err *e) {
  if (result == STORE_FAILED) return push_failure(L, e);
  lua_pushboolean(L, result == STORE_DONE);
  return 1;
}

static int push_number(lua_State *L, enum store_result result, uint64_t number, const struct err *e) {
  if (result != STORE_DONE) return push_result(L, result, e);
  lua_pushinteger(L, (lua_Integer)number);
  return 1;
}

/* ---- reading and writing ---- */

/* records:get(key, wall seconds) -> value, generation; nil, 0; false: again; nil, err, kind */
static int l_get(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  struct record r;
  enum store_result result = store_get(s, key, check_milliseconds(L, 3), &r, &e);
  if (result == STORE_DONE) {
    lua_pushlstring(L, (const char *)r.value.data, r.value.size);
    lua_pushinteger(L, (lua_Integer)r.generation);
  } else if (result == STORE_ABSENT) {
    lua_pushnil(L);
    lua_pushinteger(L, 0);
  }
  give_notice(L, s, 1);
  return result == STORE_DONE || result == STORE_ABSENT ? 2 : push_result(L, result, &e);
}

enum { P_KEY = 2, P_VALUE, P_WALL, P_ENDS, P_DURABLE, P_GENERATION, P_LEASE, P_TICKET, P_DRAWN, P_BEYOND };

static bool check_put(lua_State *L, struct put *p, struct err *e) {
  const struct lease *lease = lua_isnoneornil(L, P_LEASE) ? NULL : box_check(L, P_LEASE, &lease_type);
  struct file_draft *draft = lua_isnoneornil(L, P_TICKET) ? NULL : box_check(L, P_TICKET, &ticket_type);
  *p = (struct put){.value = check_bytes(L, P_VALUE),
                    .durable = lua_toboolean(L, P_DURABLE),
                    .compares = !lua_isnoneornil(L, P_GENERATION),
                    .generation = check_generation(L, P_GENERATION),
                    .wall = check_milliseconds(L, P_WALL),
                    .ends = check_milliseconds(L, P_ENDS),
                    .lease = lease,
                    .draft = draft,
                    .drawn = check_generation(L, P_DRAWN),
                    .beyond = check_generation(L, P_BEYOND)};
  return !(lease && is_child(lease->lock.pid, e)) && !(draft && is_child(draft->pid, e));
}

/* records:put(key, value, wall, ends, durable, generation, lease, ticket, drawn, beyond) -> generation;
 * false: again; nil, err, kind */
static int l_put(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, P_KEY);
  struct put p;
  uint64_t generation = 0;
  if (!check_put(L, &p, &e)) return push_failure(L, &e);
  enum store_result result = store_put(s, key, &p, &generation, &e);
  if (result == STORE_DONE && p.draft) box_close(L, P_TICKET);
  give_notice(L, s, 1);
  return push_number(L, result, generation, &e);
}

/* records:next(key) -> the generation of a later put; false: again; nil, err, kind */
static int l_next(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  uint64_t generation = 0;
  enum store_result result = store_next(s, key, &generation, &e);
  give_notice(L, s, 1);
  return push_number(L, result, generation, &e);
}

/* records:remove(key, wall, generation, expired) -> true; false: again; nil, err, kind. expired: only when
 * its time has passed. */
static int l_remove(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  struct removal how = {!lua_isnoneornil(L, 4), lua_toboolean(L, 5), check_generation(L, 4),
                        check_milliseconds(L, 3)};
  enum store_result result = store_remove(s, key, &how, &e);
  give_notice(L, s, 1);
  return push_result(L, result == STORE_ABSENT ? STORE_DONE : result, &e);
}

/* records:add(key, wall, amounts, ends) -> totals of these names; false: again; nil, err, kind. amounts: by
 * name */
static int l_add(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  struct addition a = {.wall = check_milliseconds(L, 3), .ends = check_milliseconds(L, 5)};
  a.list = check_amounts(L, 4, &a.count);
  enum store_result result = store_add(s, key, &a, &e);
  give_notice(L, s, 1);
  return result == STORE_DONE ? push_totals(L, a.list, a.count) : push_result(L, result, &e);
}

/* ---- leases and tickets ---- */

/* records:lease(key) -> lease, fence; false: again; nil, err, kind */
static int l_lease(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  struct lease *lease = box_new(L, &lease_type, sizeof *lease, 0);
  *lease = (struct lease)LEASE_INIT;
  enum store_result result = store_lease(s, key, lease, &e);
  if (result == STORE_DONE) box_open(L, -1);
  give_notice(L, s, 1);
  if (result != STORE_DONE) return push_result(L, result, &e);
  lua_pushinteger(L, (lua_Integer)lease->fence);
  return 2;
}

/* lease:renew() -> true while nobody else can have it; nil, err, kind */
static int l_renew(lua_State *L) {
  struct err e = ERR_INIT;
  const struct lease *lease = box_check(L, 1, &lease_type);
  if (is_child(lease->lock.pid, &e)) return push_failure(L, &e);
  if (!lock_is_ours(&lease->lock)) {
    err_set(&e, KIND_conflict, "the lease was lost: its file was removed");
    return push_failure(L, &e);
  }
  lua_pushboolean(L, true);
  return 1;
}

static void release_lease(void *object) {
  lock_close(&((struct lease *)object)->lock);
}

static const luaL_Reg lease_methods[] = {{"renew", l_renew}, {NULL, NULL}};
static const struct box_type lease_type = {"fleet.lease", release_lease, lease_methods, NULL};

static void release_ticket(void *object) {
  file_draft_close(object);
}

static const struct box_type ticket_type = {"fleet.ticket", release_ticket, NULL, NULL};

/* records:reserve(key, bytes) -> ticket; false: again; nil, err, kind */
static int l_reserve(lua_State *L) {
  struct err e = ERR_INIT;
  struct store *s = box_check(L, 1, &records_type);
  struct bytes key = check_bytes(L, 2);
  lua_Number size = luaL_checknumber(L, 3);
  luaL_argcheck(L, size >= 0 && size <= RECORD_VALUE_LIMIT, 3, "a number of bytes, at most 1 MiB, expected");
  struct file_draft *draft = box_new(L, &ticket_type, sizeof *draft, 0);
  *draft = (struct file_draft)FILE_DRAFT_INIT;
  enum store_result result = store_reserve(s, key, (size_t)size, draft, &e);
  if (result == STORE_DONE) box_open(L, -1);
  give_notice(L, s, 1);
  if (result != STORE_DONE) return push_result(L, result, &e);
  return 1;
}

/* ---- opening ---- */

static void release_records(void *object) {
  store_close(object);
}

/* records:directory() -> its path, without symbolic links */
static int l_directory(lua_State *L) {
  const struct store *s = box_check(L, 1, &records_type);
  lua_pushstring(L, s->directory);
  return 1;
}

static const luaL_Reg records_methods[] = {
    {"get", l_get},     {"put", l_put},         {"next", l_next},           {"remove", l_remove},
    {"lease", l_lease}, {"reserve", l_reserve}, {"directory", l_directory}, {"add", l_add},
    {NULL, NULL}};

static const struct box_type records_type = {"fleet.records", release_records, records_methods, NULL};

/* core.records(directory [, warn]) -> records; nil, err, kind */
static int l_records(lua_State *L) {
  struct err e = ERR_INIT;
  size_t size;
  const char *directory = luaL_checklstring(L, 1, &size);
  luaL_argcheck(L, size > 0 && strlen(directory) == size, 1, "a path without zero bytes expected");
  lua_settop(L, 2);
  struct crypto *c = state_crypto(L, &e);
  if (!c) return push_failure(L, &e);
  struct store *s = box_new(L, &records_type, sizeof *s, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, 1);
  if (!store_open(s, directory, c, &e)) return push_failure(L, &e);
  box_open(L, 3);
  give_notice(L, s, 3);
  return 1;
}

void open_records(lua_State *L) {
  static const luaL_Reg functions[] = {{"records", l_records}, {NULL, NULL}};
  box_define(L, &records_type);
  box_define(L, &lease_type);
  box_define(L, &ticket_type);
  lua_pop(L, 3);
  luaL_setfuncs(L, functions, 0);
}
