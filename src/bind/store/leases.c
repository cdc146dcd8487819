#include "bind/store/records.h"

#include <unistd.h>

static bool say_forked(struct err *e) {
  return !err_set(e, KIND_closed, "it was opened before a fork: open the store again");
}

/* ---- leases ---- */

bool lease_is_childs(const struct lease *lease, struct err *e) {
  return lock_is_childs(&lease->lock) && say_forked(e);
}

/* records:lease(key) -> lease, fence; false: again; nil, err, kind */
int records_l_lease(lua_State *L) {
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

/* lease:renew() -> true while nobody else can have it; nil, err, kind */
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
const struct box_type lease_type = {"fleet.lease", release_lease, lease_methods, NULL};

/* records:release(key, lease): of a lease that the caller forgets. Closed records take part, too. */
int records_l_release(lua_State *L) {
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

bool ticket_is_childs(const struct file_draft *draft, struct err *e) {
  return draft->pid != (long)getpid() && say_forked(e);
}

static void release_ticket(void *object) {
  file_draft_close(object);
}

const struct box_type ticket_type = {"fleet.ticket", release_ticket, NULL, NULL};

/* records:reserve(key, bytes) -> ticket; false: again; nil, err, kind */
int records_l_reserve(lua_State *L) {
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
