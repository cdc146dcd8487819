#include "signing/wire/arena.h"

#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
  struct chunk *next;
  size_t size;
  _Alignas(8) unsigned char bytes[];
};

static size_t rounded(size_t size) {
  return (size + 7) & ~(size_t)7;
}

static void *take_chunk(struct arena *a, size_t size) {
  struct chunk *c = calloc(1, sizeof *c + size);
  if (!c) return NULL;
  c->next = a->chunks;
  c->size = size;
  a->chunks = c;
  return c->bytes;
}

void *arena_take(struct arena *a, size_t size) {
  if (size > a->left || size > SIZE_MAX / 2) return NULL;
  size = rounded(size ? size : 1);
  if (size > a->left) return NULL;
  a->left -= size;
  if (size > sizeof a->first - a->used) return take_chunk(a, size);
  void *piece = memset(a->first + a->used, 0, size);
  a->used += size;
  return piece;
}

void *arena_allocate(void *arena, size_t size) {
  return arena_take(arena, size);
}

void arena_keep(void *arena, void *piece) {
  (void)arena;
  (void)piece;
}

void arena_start(struct arena *a, size_t limit) {
  a->chunks = NULL;
  a->used = 0;
  a->left = limit;
}

void arena_end(struct arena *a) {
  wipe(a->first, a->used);
  a->used = a->left = 0;
  while (a->chunks) {
    struct chunk *c = a->chunks;
    a->chunks = c->next;
    wipe(c->bytes, c->size);
    free(c);
  }
}
