#include "store/internal.h"

static bool add_to(struct store *s, struct bytes key, struct addition *a, struct buf *text, struct err *e) {
  struct found f;
  struct bytes none = {NULL, 0};
  if (!store_look(s, key, &f, false, e)) return false;
  bool alive = f.exists && record_alive(&f.record, a->wall);
  return counters_add(text, alive ? f.record.value : none, a->list, a->count, e);
}

static enum store_result add_locked(struct store *s, struct bytes key, struct addition *a, struct buf *text,
                                    struct err *e) {
  uint64_t generation;
  if (!add_to(s, key, a, text, e)) return STORE_FAILED;
  if (text->size > RECORD_VALUE_LIMIT)
    return err_set(e, KIND_store, "there are too many counters under one key"), STORE_FAILED;
  struct put p = {.value = buf_bytes(text), .ends = a->ends, .wall = a->wall};
  return store_put_locked(s, key, &p, &generation, e);
}

enum store_result store_add(struct store *s, struct bytes key, struct addition *a, struct err *e) {
  struct buf text = BUF_INIT;
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = store_enter(s, e);
  if (result == STORE_DONE) result = store_leave(s, add_locked(s, key, a, &text, e));
  buf_free(&text);
  return result;
}
