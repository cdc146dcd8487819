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
  if (!add_to(&before, a, text, e)) return found_close(&before), STORE_FAILED;
  struct put p = {.value = buf_bytes(text), .ends = a->ends, .wall = a->wall};
  return store_put_on(s, key, &p, &before, &generation, e);
}

enum store_result store_add(struct store *s, struct bytes key, struct addition *a, struct err *e) {
  struct buf text = BUF_INIT;
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = store_enter(s, e);
  if (result == STORE_DONE) result = store_leave(s, add_locked(s, key, a, &text, e));
  buf_free(&text);
  return result;
}
