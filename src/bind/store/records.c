#include "bind/crypto/context.h"
#include "bind/store/counters.h"
#include "bind/store/records.h"

#include <math.h>
#include <string.h>

/* ---- arguments ---- */

static uint64_t check_milliseconds(lua_State *L, int index) {
  return milliseconds_of(luaL_optnumber(L, index, 0));
}

/* A generation that no record has stands for what is no whole number. */
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

/* Of a record that was held back. */
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

static int push_held(lua_State *L, int aside, const struct held *h, double wall) {
  if (h->ends != 0 && h->ends <= wall) return push_absent(L);
  return push_record(L, aside, h->value, h->generation);
}

static int push_found(lua_State *L, int aside, enum store_result result, const struct record *found,
                      const struct err *e) {
  if (result == STORE_DONE) return push_record(L, aside, found->value, found->generation);
  return result == STORE_ABSENT ? push_absent(L) : push_result(L, result, e);
}

/* records:get(key, wall seconds) -> value, generation; nil, 0; false: again; nil, err, kind. What is held
 * back hides nothing that another process wrote since. */
static int l_get(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_records(L);
  struct held h;
  struct record found;
  double wall = luaL_checknumber(L, 3);
  int aside = push_aside(L);
  struct records *r = check_records(L);
  enum store_result result = store_get(&r->store, check_bytes(L, KEY), milliseconds_of(wall), &found, &e);
  bool held = held_find(L, &h), hides = held && (result != STORE_DONE || found.generation < h.generation);
  int pushed = hides ? push_held(L, aside, &h, wall) : push_found(L, aside, result, &found, &e);
  if (held && !hides) held_drop(L, r);
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
 * err, kind, and true where it is a record that was held back that cannot be written: it goes first where the
 * put compares, else the put comes after it. */
static int l_put(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_check(L, RECORDS, &records_type);
  struct bytes key = check_bytes(L, KEY);
  struct put p;
  struct held h;
  uint64_t generation = 0;
  lua_settop(L, P_TICKET);
  if (!check_put(L, &p, &e)) return push_failure(L, &e);
  enum store_result result = p.compares ? held_write(L, r, lua_tonumber(L, P_WALL), &e) : STORE_DONE;
  if (result != STORE_DONE) return push_written(L, result, &e);
  bool held = held_find(L, &h);
  if (held) p.beyond = h.generation;
  result = store_put(&r->store, key, &p, &generation, &e);
  if (result == STORE_DONE && held) held_drop(L, r);
  if (result == STORE_DONE && p.draft) box_close(L, P_TICKET);
  give_notice(L, r, RECORDS);
  return push_generation(L, result, generation, &e);
}

/* The generation of a put: the one after what is held back, or after the one that its lease last wrote. */
static enum store_result draw_generation(lua_State *L, struct records *r, int last, uint64_t *out,
                                         struct err *e) {
  struct held h;
  if (!held_find(L, &h)) {
    if (lua_isnoneornil(L, last)) return store_next(&r->store, check_bytes(L, KEY), out, e);
    h.generation = check_generation(L, last);
  }
  *out = h.generation + 1;
  return STORE_DONE;
}

/* records:hold(key, value, ends, may_wait, last or nil) -> its generation, and how many are held back;
 * nothing beside it where it is not put off: a generation of what is written at once is not. false: again;
 * nil, err, kind */
static int l_hold(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_check(L, RECORDS, &records_type);
  check_bytes(L, KEY);
  check_bytes(L, 3);
  struct held h = {.ends = luaL_checknumber(L, 4), .may_wait = lua_toboolean(L, 5)};
  lua_settop(L, 6);
  enum store_result result = draw_generation(L, r, 6, &h.generation, &e);
  lua_settop(L, 6);
  give_notice(L, r, RECORDS);
  bool fits = result == STORE_DONE && h.generation % GENERATION_STEP != 0;
  if (fits) held_keep(L, r, 3, &h), check_records(L);
  int pushed = push_generation(L, result, h.generation, &e);
  if (fits) lua_pushinteger(L, (lua_Integer)r->held);
  return pushed + (fits ? 1 : 0);
}

/* records:held() -> how many are held back */
static int l_held(lua_State *L) {
  const struct records *r = box_check(L, RECORDS, &records_type);
  lua_pushinteger(L, (lua_Integer)r->held);
  return 1;
}

/* records:settle(key, wall): writes what is held back, unless it may wait while a lease is let go -> true;
 * false: again; nil, err, kind, true Closed records
 * hold nothing back. */
static int l_settle(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct records *r = box_any(L, RECORDS, &records_type);
  struct held h;
  check_bytes(L, KEY);
  double wall = luaL_checknumber(L, 3);
  if (!box_is_open(L, RECORDS)) return lua_pushboolean(L, true), 1;
  enum store_result result = held_find(L, &h) && h.may_wait ? STORE_DONE : held_write(L, r, wall, &e);
  give_notice(L, r, RECORDS);
  return push_written(L, result, &e);
}

/* records:flush(most, wall): writes at most so many that are held back -> true; false: again; nil, err and
 * kind of the first that could not be written, true */
static int l_flush(lua_State *L) {
  struct err first, later;
  err_clear(&first);
  err_clear(&later);
  check_records(L);
  double most = luaL_checknumber(L, 2), wall = luaL_checknumber(L, 3);
  enum store_result result = STORE_DONE, one = STORE_DONE;
  lua_settop(L, 3);
  size_t count = held_push_keys(L, most);
  struct records *r = check_records(L);
  for (size_t i = 1; i <= count && one != STORE_AGAIN; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i);
    lua_replace(L, KEY);
    one = held_write(L, r, wall, result == STORE_DONE ? &first : &later);
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
  enum store_result result = how.expired ? STORE_DONE : held_write(L, r, luaL_checknumber(L, 3), &e);
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
  enum store_result result = held_write(L, r, luaL_checknumber(L, 3), &e);
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

static const luaL_Reg records_methods[] = {{"get", l_get},
                                           {"put", l_put},
                                           {"remove", l_remove},
                                           {"hold", l_hold},
                                           {"held", l_held},
                                           {"settle", l_settle},
                                           {"flush", l_flush},
                                           {"lease", records_l_lease},
                                           {"reserve", records_l_reserve},
                                           {"directory", l_directory},
                                           {"add", l_add},
                                           {"sweep", l_sweep},
                                           {"release", records_l_release},
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
  struct records *r = box_new(L, &records_type, sizeof *r, USER_VALUES);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, USER_WARN);
  lua_newtable(L);
  lua_setiuservalue(L, 3, USER_HELD);
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
