#include "store/internal.h"

static bool add_to(const struct found *before, struct addition *a, struct buf *text, struct err *e) {
  struct bytes none = {NULL, 0};
  bool alive = before->exists && record_alive(&before->record, a->wall);
  if (!counters_add(text, alive ? before->record.value : none, a->list, a->count, e)) return false;
  return text->size <= RECORD_VALUE_LIMIT ||
         err_set(e, KIND_store, "there are too many counters under one key");
}

static enum store_result add_locked(struct store *s, struct bytes key, struct addition *a, struct buf *text,
                                    struct err *e) {
  struct found before;
  uint64_t generation;
  if (!store_look(s, key, &before, true, e)) return STORE_FAILED;
  if (!add_to(&before, a, text, e)) return open_file_close(&before.file), STORE_FAILED;
  struct put p = {.value = buf_bytes(text), .ends = a->ends, .wall = a->wall};
  return store_put_on(s, key, &p, &before, &generation, e);
}

/* Its file is closed: each is needed once in a while. */
static enum store_result add_unparked(struct store *s, struct bytes key, struct addition *a, struct buf *text,
                                      struct err *e) {
  bool allowed = s->parking.allowed;
  s->parking.allowed = false;
  enum store_result result = add_locked(s, key, a, text, e);
  s->parking.allowed = allowed;
  return result;
}

enum store_result store_add(struct store *s, struct bytes key, struct addition *a, struct err *e) {
  struct buf text = BUF_INIT;
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = store_enter(s, e);
  if (result == STORE_DONE) result = store_leave(s, add_unparked(s, key, a, &text, e));
  buf_free(&text);
  return result;
}
