/* fleet.records: the store of files in Lua, and a writer's hold on a record: its lease, and the ticket that
 * reserves room for its write. lua/fleet/store/file.lua waits and has the deferred records.
 *
 * A method that finds another process writing returns false and is called again.
 */
#include "bind/crypto/context.h"
#include "bind/store/counters.h"
#include "store/store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 1, KEY = 2, USER_WARN = 1 }; /* places */

static void release_records(void *object) {
  store_close(object);
}

static const luaL_Reg records_methods[];
static const struct box_type records_type = {"fleet.records", release_records, records_methods, NULL};

/* Call it after the last Lua value was made and directly before the store is used. Making a value may run a
 * finaliser of the host, which may close the store or read another record into its buffer. */
static struct store *check_records(lua_State *L) {
  return box_check(L, RECORDS, &records_type);
}

/* Hands the store's notice to the host's function, in the box at this index. */
static void give_notice(lua_State *L, struct store *s, int box) {
  char text[sizeof s->notice];
  if (!s->notice[0]) return;
  memcpy(text, s->notice, sizeof text);
  s->notice[0] = '\0';
  if (lua_getiuservalue(L, box, USER_WARN) != LUA_TFUNCTION) return lua_pop(L, 1);
  lua_pushstring(L, text);
  lua_call(L, 1, 0);
}

static int push_result(lua_State *L, enum store_result result, const struct err *e) {
  if (result == STORE_FAILED) return push_failure(L, e);
  lua_pushboolean(L, result == STORE_DONE);
  return 1;
}

/* 0: not a valid time. */
static uint64_t check_milliseconds(lua_State *L, int index) {
  double seconds = luaL_optnumber(L, index, 0);
  if (!(seconds > 0)) return 0;
  return seconds > (double)NUMBER_LIMIT / 1000 ? NUMBER_LIMIT : (uint64_t)(seconds * 1000);
}

/* A number that is not whole becomes a generation that no record has. */
static uint64_t check_generation(lua_State *L, int index) {
  lua_Number n = luaL_optnumber(L, index, 0);
  return n >= 0 && n <= (double)NUMBER_LIMIT && floor(n) == n ? (uint64_t)n : UINT64_MAX;
}

/* What was opened before a fork belongs to the parent: true with e filled in the child. */
static bool is_childs(bool child, struct err *e) {
  return child && !err_set(e, KIND_closed, "it was opened before a fork: open the store again");
}

/* ---- leases ---- */

static void release_lease(void *object) {
  lease_close(object);
}

/* lease:renew() -> true while no other process can own it; or nil, err, kind */
static int l_renew(lua_State *L);
static const luaL_Reg lease_methods[] = {{"renew", l_renew}, {NULL, NULL}};
static const struct box_type lease_type = {"fleet.lease", release_lease, lease_methods, NULL};

static int l_renew(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct lease *lease = box_check(L, 1, &lease_type);
  if (is_childs(lock_is_childs(&lease->lock), &e)) return push_failure(L, &e);
  if (!lock_is_ours(&lease->lock)) {
    err_set(&e, KIND_conflict, "the lease was lost: its file was removed");
    return push_failure(L, &e);
  }
  lua_pushboolean(L, true);
  return 1;
}

/* records:lease(key) -> lease, fence; false; nil, err, kind */
static int l_lease(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct bytes key = check_bytes(L, KEY);
  struct lease *lease = box_new(L, &lease_type, sizeof *lease, 0);
  *lease = (struct lease)LEASE_INIT;
  struct store *s = check_records(L);
  enum store_result result = store_lease(s, key, lease, &e);
  if (result == STORE_DONE)
    box_open(L, -1);
  else
    box_close(L, lua_gettop(L));
  give_notice(L, s, RECORDS);
  if (result != STORE_DONE) return push_result(L, result, &e);
  lua_pushinteger(L, (lua_Integer)lease->fence);
  return 2;
}

/* records:release(key, lease): of a lease that the caller forgets, also where the records are closed */
static int l_release(lua_State *L) {
  struct store *s = box_any(L, RECORDS, &records_type);
  struct lease *lease = box_check(L, 3, &lease_type);
  if (box_is_open(L, RECORDS))
    store_release(s, check_bytes(L, KEY), lease);
  else
    lease_close(lease);
  box_close(L, 3);
  return 0;
}

/* ---- tickets ---- */

static void release_ticket(void *object) {
  file_draft_close(object);
}

static const struct box_type ticket_type = {"fleet.ticket", release_ticket, NULL, NULL};

/* records:reserve(key, bytes) -> ticket; false; nil, err, kind */
static int l_reserve(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct bytes key = check_bytes(L, KEY);
  lua_Number size = luaL_checknumber(L, 3);
  luaL_argcheck(L, size >= 0 && size <= RECORD_VALUE_LIMIT, 3, "a number of bytes, at most 1 MiB, expected");
  struct file_draft *draft = box_new(L, &ticket_type, sizeof *draft, 0);
  *draft = (struct file_draft)FILE_DRAFT_INIT;
  struct store *s = check_records(L);
  enum store_result result = store_reserve(s, key, (size_t)size, draft, &e);
  if (result == STORE_DONE) box_open(L, -1);
  give_notice(L, s, RECORDS);
  return result == STORE_DONE ? 1 : push_result(L, result, &e);
}

/* ---- records ---- */

/* records:get(key, wall) -> value, generation; nil, 0; false; nil, err, kind. wall: UTC seconds */
static int l_get(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct record found;
  lua_settop(L, 3);
  uint64_t wall = check_milliseconds(L, 3);
  struct buf *value = push_scratch(L);
  struct store *s = check_records(L);
  enum store_result result = store_get(s, check_bytes(L, KEY), wall, &found, &e);
  if (result == STORE_DONE) buf_add(value, found.value.data, found.value.size);
  give_notice(L, s, RECORDS);
  if (result == STORE_DONE)
    push_buf(L, value);
  else if (result == STORE_ABSENT)
    lua_pushnil(L);
  else
    return push_result(L, result, &e);
  box_close(L, 4);
  lua_pushinteger(L, result == STORE_DONE ? (lua_Integer)found.generation : 0);
  return 2;
}

enum { P_VALUE = 3, P_WALL, P_ENDS, P_DURABLE, P_GENERATION, P_LEASE, P_TICKET, P_DRAWN, P_BEYOND };

/* records:put(key, value, wall, ends, durable, generation, lease, ticket, drawn, beyond) -> generation;
 * false; nil, err, kind. drawn: the generation of a deferred record, which is not written over a newer one;
 * beyond: that of a deferred record which this put replaces. */
static int l_put(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct store *s = check_records(L);
  lua_settop(L, P_BEYOND);
  uint64_t generation = 0;
  const struct lease *lease = lua_isnil(L, P_LEASE) ? NULL : box_check(L, P_LEASE, &lease_type);
  struct file_draft *draft = lua_isnil(L, P_TICKET) ? NULL : box_check(L, P_TICKET, &ticket_type);
  struct put p = {.value = check_bytes(L, P_VALUE),
                  .durable = lua_toboolean(L, P_DURABLE),
                  .compares = !lua_isnil(L, P_GENERATION),
                  .generation = check_generation(L, P_GENERATION),
                  .wall = check_milliseconds(L, P_WALL),
                  .ends = check_milliseconds(L, P_ENDS),
                  .lease = lease,
                  .draft = draft,
                  .drawn = check_generation(L, P_DRAWN),
                  .beyond = check_generation(L, P_BEYOND)};
  if (is_childs((lease && lock_is_childs(&lease->lock)) || (draft && draft->pid != (long)getpid()), &e))
    return push_failure(L, &e);
  enum store_result result = store_put(s, check_bytes(L, KEY), &p, &generation, &e);
  if (result == STORE_DONE && draft) box_close(L, P_TICKET);
  give_notice(L, s, RECORDS);
  if (result != STORE_DONE) return push_result(L, result, &e);
  lua_pushinteger(L, (lua_Integer)generation);
  return 1;
}

/* records:next(key, after) -> the generation of a deferred record, and whether it is one: false where that
 * number belongs to an immediate write. false; nil, err, kind. after: the generation before it; nil: that of
 * the stored record */
static int l_next(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct store *s = check_records(L);
  struct bytes key = check_bytes(L, KEY);
  uint64_t generation = check_generation(L, 3) + 1;
  enum store_result result = lua_isnoneornil(L, 3) ? store_next(s, key, &generation, &e) : STORE_DONE;
  give_notice(L, s, RECORDS);
  if (result != STORE_DONE) return push_result(L, result, &e);
  lua_pushinteger(L, (lua_Integer)generation);
  lua_pushboolean(L, generation % GENERATION_STEP != 0);
  return 2;
}

/* records:remove(key, wall, generation, expired) -> true; false; nil, err, kind. expired: only when its time
 * has passed. */
static int l_remove(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct store *s = check_records(L);
  struct bytes key = check_bytes(L, KEY);
  struct removal how = {!lua_isnoneornil(L, 4), lua_toboolean(L, 5), check_generation(L, 4),
                        check_milliseconds(L, 3)};
  enum store_result result = store_remove(s, key, &how, &e);
  give_notice(L, s, RECORDS);
  return push_result(L, result == STORE_ABSENT ? STORE_DONE : result, &e);
}

/* records:add(key, wall, amounts, ends) -> totals of these names, of all where amounts is ""; false; nil,
 * err, kind. amounts, totals: lines "name number" (src/store/counters.h) */
static int l_add(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct addition a = {.wall = check_milliseconds(L, 3), .ends = check_milliseconds(L, 5)};
  a.list = check_amounts(L, 4, &a.count);
  struct record found;
  struct buf *totals = push_scratch(L);
  struct store *s = check_records(L);
  struct bytes key = check_bytes(L, KEY), all = {NULL, 0};
  enum store_result result = a.count ? store_add(s, key, &a, &e) : store_get(s, key, a.wall, &found, &e);
  bool done = result == STORE_DONE || (result == STORE_ABSENT && !a.count);
  if (!a.count && result == STORE_DONE) all = found.value;
  if (done && !counters_add(totals, all, a.list, 0, &e)) result = STORE_FAILED, done = false;
  if (done) counters_write(totals, a.list, a.count);
  give_notice(L, s, RECORDS);
  if (!done) return push_result(L, result, &e);
  push_buf(L, totals);
  return 1;
}

/* records:sweep(wall, count) -> whether files are left, and a list of the keys of records that have ended,
 * among the next count files */
static int l_sweep(lua_State *L) {
  check_records(L);
  uint64_t wall = check_milliseconds(L, 2);
  lua_Number count = luaL_checknumber(L, 3);
  struct buf *keys = push_scratch(L);
  lua_pushboolean(L, store_sweep(check_records(L), wall, (size_t)count, keys));
  push_name_list(L, keys);
  return 2;
}

/* records:directory() -> its path, without symbolic links */
static int l_directory(lua_State *L) {
  check_records(L);
  struct buf *path = push_scratch(L);
  buf_text_add(path, check_records(L)->directory);
  push_buf(L, path);
  return 1;
}

static const luaL_Reg records_methods[] = {{"get", l_get},
                                           {"put", l_put},
                                           {"next", l_next},
                                           {"remove", l_remove},
                                           {"add", l_add},
                                           {"lease", l_lease},
                                           {"release", l_release},
                                           {"reserve", l_reserve},
                                           {"sweep", l_sweep},
                                           {"directory", l_directory},
                                           {NULL, NULL}};

/* core.records(directory [, warn]) -> records; nil, err, kind */
static int l_records(lua_State *L) {
  struct err e;
  err_clear(&e);
  size_t size;
  const char *directory = luaL_checklstring(L, 1, &size);
  luaL_argcheck(L, size > 0 && strlen(directory) == size, 1, "a path without zero bytes expected");
  lua_settop(L, 2);
  struct crypto *c = state_crypto(L, &e);
  if (!c) return push_failure(L, &e);
  struct store *s = box_new(L, &records_type, sizeof *s, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, USER_WARN);
  if (!store_open(s, directory, c, &e)) return push_failure(L, &e);
  box_open(L, 3);
  give_notice(L, s, 3);
  return 1;
}

void open_records(lua_State *L) {
  box_define(L, &records_type);
  box_define(L, &lease_type);
  box_define(L, &ticket_type);
  lua_pop(L, 3);
  lua_pushcfunction(L, l_records);
  lua_setfield(L, -2, "records");
}
