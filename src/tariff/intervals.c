#include "tariff/intervals.h"

#include <stdlib.h>

static int order(uint32_t a, uint32_t b) {
  return (a > b) - (a < b);
}

static int by_start(const void *left, const void *right) {
  const struct span *a = left, *b = right;
  if (a->from != b->from) return order(a->from, b->from);
  if (a->to != b->to) return order(a->to, b->to);
  return order(a->id, b->id);
}

static bool is_sorted(const struct span *spans, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (by_start(&spans[i - 1], &spans[i]) > 0) return false;
  return true;
}

/* Periods are mostly in order already. */
void spans_sort(struct span *spans, size_t count) {
  if (!is_sorted(spans, count)) qsort(spans, count, sizeof *spans, by_start);
}

bool cover_start(struct cover *c, const struct span *sorted, size_t count, uint32_t length) {
  *c = (struct cover){.spans = sorted, .count = count, .length = length};
  c->heap = malloc((count ? count : 1) * sizeof *c->heap);
  return c->heap != NULL;
}

void cover_free(struct cover *c) {
  free(c->heap);
  *c = (struct cover){0};
}

static void heap_push(struct cover *c, struct span span) {
  size_t i = c->heap_count++;
  for (; i > 0 && c->heap[(i - 1) / 2].to > span.to; i = (i - 1) / 2) c->heap[i] = c->heap[(i - 1) / 2];
  c->heap[i] = span;
}

static void heap_pop(struct cover *c) {
  struct span last = c->heap[--c->heap_count];
  size_t i = 0, child;
  while ((child = 2 * i + 1) < c->heap_count) {
    if (child + 1 < c->heap_count && c->heap[child + 1].to < c->heap[child].to) child++;
    if (c->heap[child].to >= last.to) break;
    c->heap[i] = c->heap[child];
    i = child;
  }
  c->heap[i] = last;
}

static uint32_t piece_end(const struct cover *c) {
  uint32_t end = c->length;
  if (c->heap_count && c->heap[0].to < end) end = c->heap[0].to;
  if (c->next < c->count && c->spans[c->next].from < end) end = c->spans[c->next].from;
  return end;
}

bool cover_next(struct cover *c, struct piece *out) {
  if (c->at >= c->length) return false;
  while (c->heap_count && c->heap[0].to <= c->at) heap_pop(c);
  while (c->next < c->count && c->spans[c->next].from <= c->at) {
    if (c->spans[c->next].to > c->at) heap_push(c, c->spans[c->next]);
    c->next++;
  }
  *out = (struct piece){c->at, piece_end(c), c->heap, c->heap_count};
  c->at = out->to;
  return true;
}
