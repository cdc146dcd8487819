#include "base/file.h"
#include "store/internal.h"

#include <errno.h>
#include <unistd.h>

/* The record before a put, and the one that the put writes. */
struct change {
  struct found before;
  struct record after;
};

/* ---- deciding ---- */

static bool lost_lease(const struct lease *l, const struct found *before) {
  return l && (!lock_is_ours(&l->lock) || (before->exists && before->record.fence > l->fence));
}

static bool allowed(const struct put *p, const struct found *before, struct err *e) {
  bool alive = before->exists && record_alive(&before->record, p->wall);
  if (lost_lease(p->lease, before)) return err_set(e, KIND_conflict, "another process has the lease now");
  if (p->compares && p->generation != (alive ? before->record.generation : 0))
    return err_set(e, KIND_conflict, "another process wrote the key");
  return true;
}

/* A reservation is made for what must not be lost. */
static bool must_last(const struct put *p) {
  return p->durable || p->draft;
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void complete(struct change *c, struct bytes key, const struct put *p) {
  uint64_t before = c->before.exists ? c->before.record.fence : 0;
  c->after.fence = p->lease ? larger(p->lease->fence, before) : before;
  c->after.ends = p->ends;
  c->after.durable = must_last(p);
  c->after.key = key;
  c->after.value = p->value;
}

/* STORE_ABSENT: the stored record is newer than the deferred one. */
static enum store_result decide_on(struct store *s, struct bytes key, const struct put *p, struct change *c,
                                   struct err *e) {
  const struct found *before = &c->before;
  if (!allowed(p, before, e)) return STORE_FAILED;
  if (p->drawn && before->exists && before->record.generation >= p->drawn) return STORE_ABSENT;
  complete(c, key, p);
  c->after.generation = p->drawn;
  if (p->drawn) return STORE_DONE;
  if (!store_next_locked(s, before, &c->after.generation, e)) return STORE_FAILED;
  if (c->after.generation <= p->beyond) c->after.generation = p->beyond + 1;
  return STORE_DONE;
}

static enum store_result decide(struct store *s, struct bytes key, const struct put *p, struct change *c,
                                struct err *e) {
  if (!store_look(s, key, &c->before, !must_last(p), e)) return STORE_FAILED;
  return decide_on(s, key, p, c, e);
}

/* ---- writing over the old record ---- */

static bool fits_in_place(const struct found *before, const struct buf *text) {
  return before->fd >= 0 && !before->record.durable && text->size <= PAGE && before->size <= PAGE;
}

static bool overwrite(struct store *s, const struct found *before, const struct buf *text, struct err *e) {
  bool shorter = text->size < before->size;
  if (file_overwrite(before->fd, buf_bytes(text)) &&
      (!shorter || ftruncate(before->fd, (off_t)text->size) == 0))
    return true;
  return file_fail(e, "write", store_path(s, ""), errno);
}

/* ---- writing beside it ---- */

static bool open_draft(struct store *s, struct file_draft *d, enum store_result *result, struct err *e) {
  if (file_draft_open(d, s->directory, store_name(s), ENDING_DRAFT, e)) return true;
  *result = e->kind == KIND_busy ? STORE_AGAIN : STORE_FAILED;
  return false;
}

static enum store_result replace(struct store *s, const struct buf *text, struct err *e) {
  struct file_draft d = FILE_DRAFT_INIT;
  enum store_result result = STORE_FAILED;
  if (!open_draft(s, &d, &result, e)) return result;
  if (file_draft_write(&d, buf_bytes(text), false, e) && file_draft_keep(&d, false, e)) result = STORE_DONE;
  file_draft_close(&d);
  return result;
}

static enum store_result write_now(struct store *s, const struct change *c, struct err *e) {
  struct buf text = BUF_INIT;
  enum store_result result = STORE_FAILED;
  record_encode(&text, s->crypto, &c->after);
  if (!buf_ok(&text))
    err_out_of_memory(e);
  else if (fits_in_place(&c->before, &text))
    result = overwrite(s, &c->before, &text, e) ? STORE_DONE : STORE_FAILED;
  else
    result = replace(s, &text, e);
  buf_free(&text);
  return result;
}

enum store_result store_put_on(struct store *s, struct bytes key, const struct put *p, struct found *before,
                               uint64_t *generation, struct err *e) {
  struct change c = {.before = *before};
  enum store_result result = decide_on(s, key, p, &c, e);
  if (result == STORE_DONE) result = write_now(s, &c, e);
  *generation = c.after.generation;
  found_close(before);
  return result;
}

static enum store_result put_locked(struct store *s, struct bytes key, const struct put *p,
                                    uint64_t *generation, struct err *e) {
  struct found before;
  if (!store_look(s, key, &before, true, e)) return STORE_FAILED;
  return store_put_on(s, key, p, &before, generation, e);
}

static enum store_result put_volatile(struct store *s, struct bytes key, const struct put *p,
                                      uint64_t *generation, struct err *e) {
  enum store_result result = store_enter(s, e);
  if (result != STORE_DONE) return result;
  result = put_locked(s, key, p, generation, e);
  return store_leave(s, result == STORE_ABSENT ? STORE_DONE : result);
}

/* ---- durable puts: no other process waits for the disk ---- */

static enum store_result decide_alone(struct store *s, struct bytes key, const struct put *p,
                                      struct change *c, struct err *e) {
  enum store_result result = store_enter(s, e);
  return result == STORE_DONE ? store_leave(s, decide(s, key, p, c, e)) : result;
}

static bool write_draft(struct store *s, const struct change *c, struct file_draft *d, struct err *e) {
  struct buf text = BUF_INIT;
  record_encode(&text, s->crypto, &c->after);
  bool done = buf_ok(&text) ? file_draft_write(d, buf_bytes(&text), true, e) : err_out_of_memory(e);
  buf_free(&text);
  return done;
}

/* Whether the stored record is still the one of the decision. */
static enum store_result still(struct store *s, struct bytes key, const struct put *p,
                               const struct found *then, struct err *e) {
  struct found now;
  if (!store_look(s, key, &now, false, e) || !allowed(p, &now, e)) return STORE_FAILED;
  bool same = now.exists == then->exists && (!now.exists || now.record.generation == then->record.generation);
  return same ? STORE_DONE : STORE_AGAIN;
}

static enum store_result keep(struct store *s, struct bytes key, const struct put *p, const struct change *c,
                              struct file_draft *d, struct err *e) {
  enum store_result result = store_enter(s, e);
  if (result != STORE_DONE) return result;
  result = still(s, key, p, &c->before, e);
  if (result == STORE_DONE && !file_draft_keep(d, false, e)) result = STORE_FAILED;
  store_leave(s, result);
  if (result != STORE_DONE || directory_sync(s->directory)) return result;
  return file_fail(e, "write", store_path(s, ""), errno), STORE_FAILED;
}

static enum store_result put_durable(struct store *s, struct bytes key, const struct put *p,
                                     uint64_t *generation, struct err *e) {
  struct file_draft own = FILE_DRAFT_INIT, *d = p->draft ? p->draft : &own;
  struct change c = {.before = FOUND_INIT};
  enum store_result result = decide_alone(s, key, p, &c, e);
  *generation = c.after.generation;
  if (result != STORE_DONE) return result == STORE_ABSENT ? STORE_DONE : result;
  if (d == &own && !open_draft(s, d, &result, e)) return result;
  result = write_draft(s, &c, d, e) ? keep(s, key, p, &c, d, e) : STORE_FAILED;
  file_draft_close(&own);
  return result;
}

enum store_result store_put(struct store *s, struct bytes key, const struct put *p, uint64_t *generation,
                            struct err *e) {
  if (p->value.size > RECORD_VALUE_LIMIT)
    return err_set(e, KIND_store, "the value is too large to be stored"), STORE_FAILED;
  if (!store_choose(s, key, e)) return STORE_FAILED;
  return (must_last(p) ? put_durable : put_volatile)(s, key, p, generation, e);
}

/* ---- removing ---- */

/* What a killed process left must not come back at the next lease. */
static enum store_result remove_all(struct store *s, struct err *e) {
  if (!file_draft_remove_left(store_path(s, ENDING_RESERVED)) && errno != EWOULDBLOCK)
    return file_fail(e, "remove", store_path(s, ENDING_RESERVED), errno), STORE_FAILED;
  file_draft_remove_left(store_path(s, ENDING_DRAFT));
  return file_remove(store_path(s, ""), e) ? STORE_DONE : STORE_FAILED;
}

static enum store_result remove_locked(struct store *s, struct bytes key, const struct removal *how,
                                       struct err *e) {
  struct found f;
  struct put like = {.compares = how->compares, .generation = how->generation, .wall = how->wall};
  if (!store_look(s, key, &f, false, e) || !allowed(&like, &f, e)) return STORE_FAILED;
  if (how->expired && (!f.exists || record_alive(&f.record, how->wall))) return STORE_ABSENT;
  if (f.exists && !store_passed_locked(s, f.record.generation, e)) return STORE_FAILED;
  return remove_all(s, e);
}

enum store_result store_remove(struct store *s, struct bytes key, const struct removal *how, struct err *e) {
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = store_enter(s, e);
  if (result == STORE_DONE) result = store_leave(s, remove_locked(s, key, how, e));
  if (result == STORE_DONE) store_forget_lock_of(s);
  return result;
}
