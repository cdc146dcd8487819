#include "base/timers.h"

#include <stdlib.h>

enum { FIRST_ROOM = 16 };

static bool before(const struct timer *a, const struct timer *b) {
  return a->at != b->at ? a->at < b->at : a->key < b->key;
}

bool timers_reserve(struct timers *t) {
  if (t->size < t->room) return true;
  size_t room = t->room ? t->room * 2 : FIRST_ROOM;
  struct timer *heap = realloc(t->heap, room * sizeof *heap);
  if (!heap) return false;
  t->heap = heap;
  t->room = room;
  return true;
}

int64_t timers_push(struct timers *t, double at) {
  struct timer entry = {at, ++t->pushed};
  size_t i = t->size++;
  for (size_t up; i > 0 && before(&entry, &t->heap[up = (i - 1) / 2]); i = up) t->heap[i] = t->heap[up];
  t->heap[i] = entry;
  return entry.key;
}

const struct timer *timers_first(const struct timers *t) {
  return t->size ? t->heap : NULL;
}

void timers_pop(struct timers *t) {
  struct timer last = t->heap[--t->size];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < t->size; i = child) {
    if (child + 1 < t->size && before(&t->heap[child + 1], &t->heap[child])) child++;
    if (!before(&t->heap[child], &last)) break;
    t->heap[i] = t->heap[child];
  }
  t->heap[i] = last;
}

void timers_free(struct timers *t) {
  free(t->heap);
  *t = (struct timers){0};
}
