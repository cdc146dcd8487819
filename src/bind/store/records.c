/* fleet.records: the store of files in Lua. Its box, the deferred records, what a writer
 * holds beside a record (its lease, and the ticket that reserves room for its write), and the methods.
 */
#include "bind/crypto/context.h"
#include "bind/store/counters.h"
#include "store/store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

struct records {
  struct store store;
  size_t deferred; /* how many */
};

enum { RECORDS = 1, KEY = 2, USER_WARN = 1, USER_DEFERRED = 2, USER_VALUES = 2 }; /* places */

struct deferred {
  struct bytes value;
  uint64_t generation;
  double ends; /* UTC seconds; 0: never */
  bool may_wait;
};

static void release_records(void *object) {
  store_close(&((struct records *)object)->store);
}

static const struct box_type lease_type;

static const struct box_type records_type = {"fleet.records", release_records, NULL, NULL};

/* Checked again after each allocation: it may run a finaliser of the host that closes the store, or that
 * reads another record into the same buffer. */
static struct records *check_records(lua_State *L) {
  return box_check(L, RECORDS, &records_type);
}

/* What the store has to say goes to the host's function, in the box at this index. */
static void give_notice(lua_State *L, struct records *r, int box) {
  struct store *s = &r->store;
  char text[sizeof s->notice];
  if (!s->notice[0]) return;
  memcpy(text, s->notice, sizeof text);
  s->notice[0] = '\0';
  if (lua_getiuservalue(L, box, USER_WARN) != LUA_TFUNCTION) return lua_pop(L, 1);
  lua_pushstring(L, text);
  lua_call(L, 1, 0);
}

/* false: another process writes at this moment; call again. */
static int push_result(lua_State *L, enum store_result result, const struct err *e) {
  if (result == STORE_FAILED) return push_failure(L, e);
  lua_pushboolean(L, result == STORE_DONE);
  return 1;
}

/* ---- deferred records: their write waits ----
 *
 * They are in a table of the userdata's user value, where the garbage collector sees them, by key: { value,
 * generation, end in seconds, whether the write may wait while the lease is released }. */

enum { VALUE = 1, GENERATION, ENDS, MAY_WAIT }; /* places in a deferred record */

static double number_at(lua_State *L, int place) {
  lua_rawgeti(L, -1, place);
  double number = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return number;
}

/* The table keeps the value. */
static struct deferred read_deferred(lua_State *L) {
  lua_rawgeti(L, -1, VALUE);
  struct bytes value = check_bytes(L, -1);
  lua_pop(L, 1);
  lua_rawgeti(L, -1, MAY_WAIT);
  bool may_wait = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return (struct deferred){value, (uint64_t)number_at(L, GENERATION), number_at(L, ENDS), may_wait};
}

/* The record of the key on the stack at KEY. True leaves one value on the stack, which keeps h. */
static bool deferred_find(lua_State *L, struct deferred *h) {
  lua_getiuservalue(L, RECORDS, USER_DEFERRED);
  lua_pushvalue(L, KEY);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (!lua_istable(L, -1)) return lua_pop(L, 1), false;
  *h = read_deferred(L);
  return true;
}

/* Of the value on the stack at this index. */
static void deferred_keep(lua_State *L, struct records *r, int value, const struct deferred *h) {
  struct deferred before;
  value = lua_absindex(L, value);
  lua_createtable(L, MAY_WAIT, 0);
  lua_pushvalue(L, value);
  lua_rawseti(L, -2, VALUE);
  lua_pushinteger(L, (lua_Integer)h->generation);
  lua_rawseti(L, -2, GENERATION);
  lua_pushnumber(L, h->ends);
  lua_rawseti(L, -2, ENDS);
  lua_pushboolean(L, h->may_wait);
  lua_rawseti(L, -2, MAY_WAIT);
  bool replaces = deferred_find(L, &before);
  if (replaces) lua_pop(L, 1);
  lua_getiuservalue(L, RECORDS, USER_DEFERRED);
  lua_pushvalue(L, KEY);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
  if (!replaces) r->deferred++;
}

static void deferred_drop(lua_State *L, struct records *r) {
  lua_getiuservalue(L, RECORDS, USER_DEFERRED);
  lua_pushvalue(L, KEY);
  lua_pushnil(L);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  r->deferred--;
}

/* Pushes a list of the keys, at most so many, and returns how many. */
static size_t deferred_push_keys(lua_State *L, double most) {
  lua_Integer count = 0;
  lua_newtable(L);
  int list = lua_gettop(L);
  lua_getiuservalue(L, RECORDS, USER_DEFERRED);
  for (lua_pushnil(L); (double)count < most && lua_next(L, list + 1); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, list, ++count);
  }
  lua_settop(L, list);
  return (size_t)count;
}

/* 0 for what is no time. */
static uint64_t milliseconds_of(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds > (double)NUMBER_LIMIT / 1000 ? NUMBER_LIMIT : (uint64_t)(seconds * 1000);
}

/* Writes the record of the key at KEY: STORE_DONE also without a deferred one. A record that another process
 * wrote since the generation was drawn is newer and stays. */
static enum store_result deferred_write(lua_State *L, struct records *r, double wall, struct err *e) {
  struct deferred h;
  uint64_t generation;
  if (!deferred_find(L, &h)) return STORE_DONE;
  struct put p = {.value = h.value,
                  .wall = milliseconds_of(wall),
                  .ends = milliseconds_of(h.ends),
                  .drawn = h.generation};
  enum store_result result = store_put(&r->store, check_bytes(L, KEY), &p, &generation, e);
  lua_pop(L, 1);
  if (result == STORE_DONE) deferred_drop(L, r);
  return result;
}

static bool say_forked(struct err *e) {
  return !err_set(e, KIND_closed, "it was opened before a fork: open the store again");
}

/* ---- leases ---- */

/* A lease that was opened before a fork belongs to the parent: true with e filled in the child. */
static bool lease_is_childs(const struct lease *lease, struct err *e) {
  return lock_is_childs(&lease->lock) && say_forked(e);
}

/* records:lease(key) -> lease, fence; false: again; nil, err, kind */
static int l_lease(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct bytes key = check_bytes(L, 2);
  struct lease *lease = box_new(L, &lease_type, sizeof *lease, 0);
  *lease = (struct lease)LEASE_INIT;
  struct records *r = check_records(L);
  enum store_result result = store_lease(&r->store, key, lease, &e);
  if (result == STORE_DONE)
    box_open(L, -1);
  else
    box_close(L, lua_gettop(L));
  give_notice(L, r, RECORDS);
  if (result != STORE_DONE) return push_result(L, result, &e);
  lua_pushinteger(L, (lua_Integer)lease->fence);
  return 2;
}

/* lease:renew() -> true while no other process can own it; or nil, err, kind */
static int l_renew(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct lease *lease = box_check(L, 1, &lease_type);
  if (lease_is_childs(lease, &e)) return push_failure(L, &e);
  if (!lock_is_ours(&lease->lock)) {
    err_set(&e, KIND_conflict, "the lease was lost: its file was removed");
    return push_failure(L, &e);
  }
  lua_pushboolean(L, true);
  return 1;
}

static void release_lease(void *object) {
  lease_close(object);
}

static const luaL_Reg lease_methods[] = {{"renew", l_renew}, {NULL, NULL}};
static const struct box_type lease_type = {"fleet.lease", release_lease, lease_methods, NULL};

/* records:release(key, lease): of a lease that the caller forgets. Closed records take part, too. */
static int l_release(lua_State *L) {
  struct records *r = box_any(L, RECORDS, &records_type);
  struct lease *lease = box_check(L, 3, &lease_type);
  if (box_is_open(L, RECORDS))
    store_release(&r->store, check_bytes(L, KEY), lease);
  else
    lease_close(lease);
  box_close(L, 3);
  return 0;
}

/* ---- tickets ---- */

static bool ticket_is_childs(const struct file_draft *draft, struct err *e) {
  return draft->pid != (long)getpid() && say_forked(e);
}

static void release_ticket(void *object) {
  file_draft_close(object);
}

static const struct box_type ticket_type = {"fleet.ticket", release_ticket, NULL, NULL};

/* records:reserve(key, bytes) -> ticket; false: again; nil, err, kind */
static int l_reserve(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct bytes key = check_bytes(L, 2);
  lua_Number size = luaL_checknumber(L, 3);
  luaL_argcheck(L, size >= 0 && size <= RECORD_VALUE_LIMIT, 3, "a number of bytes, at most 1 MiB, expected");
  struct file_draft *draft = box_new(L, &ticket_type, sizeof *draft, 0);
  *draft = (struct file_draft)FILE_DRAFT_INIT;
  struct records *r = check_records(L);
  enum store_result result = store_reserve(&r->store, key, (size_t)size, draft, &e);
  if (result == STORE_DONE) box_open(L, -1);
  give_notice(L, r, RECORDS);
  if (result != STORE_DONE) return push_result(L, result, &e);
  return 1;
}

/* ---- arguments ---- */

static uint64_t check_milliseconds(lua_State *L, int index) {
  return milliseconds_of(luaL_optnumber(L, index, 0));
}

/* A number that is not whole becomes a generation that no record has. */
static uint64_t check_generation(lua_State *L, int index) {
  lua_Number n = luaL_optnumber(L, index, 0);
  return n >= 0 && n <= (double)NUMBER_LIMIT && floor(n) == n ? (uint64_t)n : UINT64_MAX;
}

/* ---- results ---- */

static int push_generation(lua_State *L, enum store_result result, uint64_t number, const struct err *e) {
  if (result != STORE_DONE) return push_result(L, result, e);
  lua_pushinteger(L, (lua_Integer)number);
  return 1;
}

/* The result of writing a deferred record. */
static int push_written(lua_State *L, enum store_result result, const struct err *e) {
  int pushed = push_result(L, result, e);
  if (result != STORE_FAILED) return pushed;
  lua_pushboolean(L, true);
  return pushed + 1;
}

/* ---- reading ---- */

static int push_record(lua_State *L, int aside, struct bytes value, uint64_t generation) {
  push_from(L, aside, value);
  lua_pushinteger(L, (lua_Integer)generation);
  return 2;
}

static int push_absent(lua_State *L) {
  lua_pushnil(L);
  lua_pushinteger(L, 0);
  return 2;
}

static int push_deferred(lua_State *L, int aside, const struct deferred *h, double wall) {
  if (h->ends != 0 && h->ends <= wall) return push_absent(L);
  return push_record(L, aside, h->value, h->generation);
}

static int push_found(lua_State *L, int aside, enum store_result result, const struct record *found,
                      const struct err *e) {
  if (result == STORE_DONE) return push_record(L, aside, found->value, found->generation);
  return result == STORE_ABSENT ? push_absent(L) : push_result(L, result, e);
}

/* records:get(key, wall seconds) -> value, generation; nil, 0; false: again; nil, err, kind. A
 * deferred record never hides a newer one of another process. */
static int l_get(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct deferred h;
  struct record found;
  double wall = luaL_checknumber(L, 3);
  int aside = push_aside(L);
  struct records *r = check_records(L);
  enum store_result result = store_get(&r->store, check_bytes(L, KEY), milliseconds_of(wall), &found, &e);
  bool is_deferred = deferred_find(L, &h),
       hides = is_deferred && (result != STORE_DONE || found.generation < h.generation);
  int pushed = hides ? push_deferred(L, aside, &h, wall) : push_found(L, aside, result, &found, &e);
  if (is_deferred && !hides) deferred_drop(L, r);
  give_notice(L, r, RECORDS);
  return pushed;
}

/* ---- writing ---- */

enum { P_VALUE = 3, P_WALL, P_ENDS, P_DURABLE, P_GENERATION, P_LEASE, P_TICKET };

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
                    .draft = draft};
  return !(lease && lease_is_childs(lease, e)) && !(draft && ticket_is_childs(draft, e));
}

/* records:put(key, value, wall, ends, durable, generation, lease, ticket) -> generation; false: again; nil,
 * err, kind, and true when it was a deferred record that could not be written: a put that compares writes it
 * first, any other put replaces it. */
static int l_put(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_check(L, RECORDS, &records_type);
  struct bytes key = check_bytes(L, KEY);
  struct put p;
  struct deferred h;
  uint64_t generation = 0;
  lua_settop(L, P_TICKET);
  if (!check_put(L, &p, &e)) return push_failure(L, &e);
  enum store_result result = p.compares ? deferred_write(L, r, lua_tonumber(L, P_WALL), &e) : STORE_DONE;
  if (result != STORE_DONE) return push_written(L, result, &e);
  bool is_deferred = deferred_find(L, &h);
  if (is_deferred) p.beyond = h.generation;
  result = store_put(&r->store, key, &p, &generation, &e);
  if (result == STORE_DONE && is_deferred) deferred_drop(L, r);
  if (result == STORE_DONE && p.draft) box_close(L, P_TICKET);
  give_notice(L, r, RECORDS);
  return push_generation(L, result, generation, &e);
}

/* The generation of a put: the one after the deferred record, or after the one that its lease wrote last. */
static enum store_result draw_generation(lua_State *L, struct records *r, int last, uint64_t *out,
                                         struct err *e) {
  struct deferred h;
  if (!deferred_find(L, &h)) {
    if (lua_isnoneornil(L, last)) return store_next(&r->store, check_bytes(L, KEY), out, e);
    h.generation = check_generation(L, last);
  }
  *out = h.generation + 1;
  return STORE_DONE;
}

/* records:defer(key, value, ends, may_wait, last or nil) -> its generation, and how many are deferred; the
 * generation alone when it was not deferred, because that generation belongs to immediate writes. false:
 * again; nil, err, kind */
static int l_defer(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_check(L, RECORDS, &records_type);
  check_bytes(L, KEY);
  check_bytes(L, 3);
  struct deferred h = {.ends = luaL_checknumber(L, 4), .may_wait = lua_toboolean(L, 5)};
  lua_settop(L, 6);
  enum store_result result = draw_generation(L, r, 6, &h.generation, &e);
  lua_settop(L, 6);
  give_notice(L, r, RECORDS);
  bool fits = result == STORE_DONE && h.generation % GENERATION_STEP != 0;
  if (fits) deferred_keep(L, r, 3, &h), check_records(L);
  int pushed = push_generation(L, result, h.generation, &e);
  if (fits) lua_pushinteger(L, (lua_Integer)r->deferred);
  return pushed + (fits ? 1 : 0);
}

/* records:deferred() -> how many are deferred */
static int l_deferred(lua_State *L) {
  const struct records *r = box_check(L, RECORDS, &records_type);
  lua_pushinteger(L, (lua_Integer)r->deferred);
  return 1;
}

/* records:write_deferred(key, wall): writes the deferred record, unless it may wait while its lease is
 * released -> true; false: again; nil, err, kind, true. Closed records have none. */
static int l_write_deferred(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_any(L, RECORDS, &records_type);
  struct deferred h;
  check_bytes(L, KEY);
  double wall = luaL_checknumber(L, 3);
  if (!box_is_open(L, RECORDS)) return lua_pushboolean(L, true), 1;
  enum store_result result = deferred_find(L, &h) && h.may_wait ? STORE_DONE : deferred_write(L, r, wall, &e);
  give_notice(L, r, RECORDS);
  return push_written(L, result, &e);
}

/* records:flush(most, wall): writes at most so many deferred records -> true; false: again; nil, err and
 * kind of the first that could not be written, true */
static int l_flush(lua_State *L) {
  struct err first, later;
  err_clear(&first);
  err_clear(&later);
  check_records(L);
  double most = luaL_checknumber(L, 2), wall = luaL_checknumber(L, 3);
  enum store_result result = STORE_DONE, one = STORE_DONE;
  lua_settop(L, 3);
  size_t count = deferred_push_keys(L, most);
  struct records *r = check_records(L);
  for (size_t i = 1; i <= count && one != STORE_AGAIN; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i);
    lua_replace(L, KEY);
    one = deferred_write(L, r, wall, result == STORE_DONE ? &first : &later);
    if (one != STORE_DONE) result = one;
  }
  give_notice(L, r, RECORDS);
  return push_written(L, result, &first);
}

/* records:remove(key, wall, generation, expired) -> true; false: again; nil, err, kind. expired: only when
 * its time has passed. */
static int l_remove(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_check(L, RECORDS, &records_type);
  struct bytes key = check_bytes(L, KEY);
  struct removal how = {!lua_isnoneornil(L, 4), lua_toboolean(L, 5), check_generation(L, 4),
                        check_milliseconds(L, 3)};
  enum store_result result = how.expired ? STORE_DONE : deferred_write(L, r, luaL_checknumber(L, 3), &e);
  if (result != STORE_DONE) return push_written(L, result, &e);
  result = store_remove(&r->store, key, &how, &e);
  give_notice(L, r, RECORDS);
  return push_result(L, result == STORE_ABSENT ? STORE_DONE : result, &e);
}

/* Pushes the totals of all names, of a text of their own: what warns and what finishes may read others. */
static int push_all(lua_State *L, uint64_t wall) {
  struct err e;
  err_clear(&e);
  struct record found;
  struct buf *text = push_scratch(L);
  struct records *r = check_records(L);
  enum store_result result = store_get(&r->store, check_bytes(L, KEY), wall, &found, &e);
  if (result == STORE_DONE) buf_add(text, found.value.data, found.value.size);
  if (!buf_ok(text)) return luaL_error(L, "out of memory");
  give_notice(L, r, RECORDS);
  bool read = result == STORE_DONE || result == STORE_ABSENT;
  return read ? push_counters(L, buf_bytes(text)) : push_result(L, result, &e);
}

/* records:add(key, wall, amounts, ends) -> totals of these names, of all where amounts is empty; false:
 * again; nil, err, kind. amounts: by name */
static int l_add(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct bytes key = check_bytes(L, KEY);
  struct addition a = {.wall = check_milliseconds(L, 3), .ends = check_milliseconds(L, 5)};
  a.list = check_amounts(L, 4, &a.count);
  struct records *r = check_records(L);
  enum store_result result = deferred_write(L, r, luaL_checknumber(L, 3), &e);
  if (result != STORE_DONE) return push_written(L, result, &e);
  if (!a.count) return push_all(L, a.wall);
  result = store_add(&r->store, key, &a, &e);
  give_notice(L, r, RECORDS);
  return result == STORE_DONE ? push_totals(L, a.list, a.count) : push_result(L, result, &e);
}

/* records:sweep(wall, first, count) -> how many files there are, and a list of the keys of records that have
 * ended, among count files from the one at first on */
static int l_sweep(lua_State *L) {
  check_records(L);
  uint64_t wall = check_milliseconds(L, 2);
  lua_Number first = luaL_checknumber(L, 3), count = luaL_checknumber(L, 4);
  struct buf *keys = push_scratch(L);
  struct records *r = check_records(L);
  size_t total = store_sweep(&r->store, wall, (size_t)first, (size_t)count, keys);
  lua_pushinteger(L, (lua_Integer)total);
  lua_newtable(L);
  lua_Integer found = 0;
  for (size_t at = 0; buf_ok(keys) && at < keys->size; at += strlen((char *)keys->data + at) + 1) {
    lua_pushstring(L, (char *)keys->data + at);
    lua_rawseti(L, -2, ++found);
  }
  return 2;
}

/* ---- opening ---- */

/* records:directory() -> its path, without symbolic links */
static int l_directory(lua_State *L) {
  check_records(L);
  int aside = push_aside(L);
  push_from(L, aside, bytes_of(check_records(L)->store.directory));
  return 1;
}

static const luaL_Reg records_methods[] = {{"get", l_get},           {"put", l_put},
                                           {"remove", l_remove},     {"defer", l_defer},
                                           {"deferred", l_deferred}, {"write_deferred", l_write_deferred},
                                           {"flush", l_flush},       {"lease", l_lease},
                                           {"reserve", l_reserve},   {"directory", l_directory},
                                           {"add", l_add},           {"sweep", l_sweep},
                                           {"release", l_release},   {NULL, NULL}};

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
  struct records *r = box_new(L, &records_type, sizeof *r, USER_VALUES);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, USER_WARN);
  lua_newtable(L);
  lua_setiuservalue(L, 3, USER_DEFERRED);
  if (!store_open(&r->store, directory, c, &e)) return push_failure(L, &e);
  box_open(L, 3);
  give_notice(L, r, 3);
  return 1;
}

void open_records(lua_State *L) {
  static const luaL_Reg functions[] = {{"records", l_records}, {NULL, NULL}};
  box_define(L, &records_type);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, records_methods, 0);
  lua_pop(L, 2);
  box_define(L, &lease_type);
  box_define(L, &ticket_type);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
}
