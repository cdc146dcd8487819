#include "base/file.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- drafts of killed processes ---- */

/* The left draft is complete, of this owner and key, newer than the stored record, and no process has it
 * open. */
static bool is_wanted(struct store *s, struct bytes key, int fd) {
  struct record left;
  struct found current;
  struct file_facts facts;
  struct err ignored;
  err_clear(&ignored);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  buf_clear(&s->text);
  if (!file_read_open(&s->text, fd, RECORD_VALUE_LIMIT + RECORD_OVERHEAD, &facts)) return false;
  if (!facts.mine) {
    store_notice(s, "%s%s belongs to another user and is not taken over", store_name(s), ENDING_RESERVED);
    return false;
  }
  if (record_decode(&left, s->crypto, buf_bytes(&s->text)) != RECORD_OK || !bytes_equal(left.key, key))
    return false;
  uint64_t generation = left.generation;
  return store_look(s, key, &current, false, &ignored) &&
         (!current.exists || current.record.generation < generation);
}

static int open_left(struct store *s) {
  return open(store_path(s, ENDING_RESERVED), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Takes over a complete record that a killed process had written for the chosen key and not renamed. */
static void recover_locked(struct store *s, struct bytes key) {
  char left[s->stem + sizeof ENDING_RESERVED];
  int fd = open_left(s);
  if (fd < 0) return;
  if (is_wanted(s, key, fd) && fsync(fd) == 0) {
    snprintf(left, sizeof left, "%s", store_path(s, ENDING_RESERVED));
    file_step();
    if (rename(left, store_path(s, "")) == 0) directory_sync(s->directory);
    file_step();
  }
  close(fd);
}

static enum store_result recover(struct store *s, struct bytes key, struct err *e) {
  struct file_facts facts;
  if (!file_facts_at(store_path(s, ENDING_RESERVED), &facts)) return STORE_DONE;
  enum store_result result = store_enter(s, e);
  if (result != STORE_DONE) return result;
  recover_locked(s, key);
  return store_leave(s, STORE_DONE);
}

/* ---- leases ---- */

/* Beyond the fences of leases under which nothing was put. */
enum { LEAP = 1 << 20 };

/* Of a new lock: beyond the fence of the record, and of every lock that was removed. */
static bool first_fence_locked(struct store *s, struct bytes key, uint64_t *fence, struct err *e) {
  struct found f;
  if (!store_number_locked(s, fence, e) || !store_look(s, key, &f, false, e)) return false;
  uint64_t of_record = f.exists && f.record.fence ? f.record.fence + LEAP : 0;
  if (of_record > *fence) *fence = of_record;
  return true;
}

static enum store_result first_fence(struct store *s, struct bytes key, uint64_t *fence, struct err *e) {
  enum store_result result = store_enter(s, e);
  if (result != STORE_DONE) return result;
  return store_leave(s, first_fence_locked(s, key, fence, e) ? STORE_DONE : STORE_FAILED);
}

static enum store_result next_fence(struct store *s, struct bytes key, struct lease *l, struct err *e) {
  enum number_state state = lock_read(&l->lock, &l->fence, e);
  if (state == NUMBER_UNREAD) return STORE_FAILED;
  if (state == NUMBER_DAMAGED || state == NUMBER_NONE) {
    enum store_result result = first_fence(s, key, &l->fence, e);
    if (result != STORE_DONE) return result;
    if (state == NUMBER_DAMAGED && !lock_clear(&l->lock, e)) return STORE_FAILED;
    if (state == NUMBER_DAMAGED)
      store_notice(s, "the count of leases in %s%s was damaged and was set anew", store_name(s),
                   ENDING_LEASE);
  }
  return lock_write(&l->lock, ++l->fence, e) ? STORE_DONE : STORE_FAILED;
}

enum store_result store_lease(struct store *s, struct bytes key, struct lease *l, struct err *e) {
  if (!store_choose(s, key, e)) return STORE_FAILED;
  if (lock_take(&l->lock, store_path(s, ENDING_LEASE), e) != LOCK_TAKEN) return STORE_FAILED;
  enum store_result result = recover(s, key, e);
  if (result == STORE_DONE) result = next_fence(s, key, l, e);
  if (result != STORE_DONE) lease_close(l);
  return result;
}

bool store_has_record(struct store *s) {
  struct file_facts facts;
  return file_facts_at(store_path(s, ""), &facts) || errno != ENOENT;
}

void store_forget_lock(struct store *s, const struct lock *l, uint64_t fence) {
  struct err ignored;
  err_clear(&ignored);
  if (store_has_record(s) || !lock_is_ours(l) || store_enter(s, &ignored) != STORE_DONE) return;
  if (!store_has_record(s) && store_passed_locked(s, fence, &ignored)) unlink(store_path(s, ENDING_LEASE));
  store_leave(s, STORE_DONE);
}

void store_release(struct store *s, struct bytes key, struct lease *l) {
  struct err ignored;
  err_clear(&ignored);
  if (store_choose(s, key, &ignored)) store_forget_lock(s, &l->lock, l->fence);
  lease_close(l);
}

void lease_close(struct lease *l) {
  lock_close(&l->lock);
}

/* ---- reservations ---- */

/* Drawn, not only read: the put after an exchange draws like this. */
static bool prove_locked(struct store *s, struct bytes key, struct err *e) {
  const struct found none = FOUND_INIT;
  struct found f;
  uint64_t generation;
  recover_locked(s, key);
  return store_look(s, key, &f, false, e) && store_next_locked(s, &none, &generation, e) &&
         store_next_locked(s, &f, &generation, e);
}

static enum store_result prove(struct store *s, struct bytes key, struct err *e) {
  enum store_result result = store_enter(s, e);
  if (result != STORE_DONE) return result;
  return store_leave(s, prove_locked(s, key, e) ? STORE_DONE : STORE_FAILED);
}

enum store_result store_reserve(struct store *s, struct bytes key, size_t size, struct file_draft *d,
                                struct err *e) {
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = prove(s, key, e);
  if (result != STORE_DONE) return result;
  if (!file_draft_open(d, s->directory, store_name(s), ENDING_RESERVED, e)) return STORE_FAILED;
  if (file_draft_reserve(d, size + RECORD_OVERHEAD, e)) return STORE_DONE;
  file_draft_close(d);
  return STORE_FAILED;
}
