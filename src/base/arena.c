#include "base/arena.h"

#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
  struct chunk *next;
  size_t size, used;
  _Alignas(8) unsigned char bytes[];
};

/* The first chunk, with its head, is the largest block that the C library's fast free lists keep. */
enum { FIRST_CHUNK = 1024 - sizeof(struct chunk), LARGEST_CHUNK = 1 << 16 };

static size_t rounded(size_t size) {
  return (size + 7) & ~(size_t)7;
}

/* Each chunk is twice as large as the one before. */
static bool add_chunk(struct arena *a, size_t size) {
  size_t room = a->chunks ? 2 * a->chunks->size : FIRST_CHUNK;
  if (room > LARGEST_CHUNK) room = LARGEST_CHUNK;
  if (room < size) room = size;
  struct chunk *c = malloc(sizeof *c + room);
  if (!c) return false;
  *c = (struct chunk){.next = a->chunks, .size = room};
  a->chunks = c;
  return true;
}

static void *take_from_chunk(struct arena *a, size_t size) {
  bool fits = a->chunks && size <= a->chunks->size - a->chunks->used;
  if (!fits && !add_chunk(a, size)) {
    a->failed = true;
    return NULL;
  }
  void *piece = memset(a->chunks->bytes + a->chunks->used, 0, size);
  a->chunks->used += size;
  return piece;
}

void *arena_take(struct arena *a, size_t size) {
  bool fits = size <= a->left && size <= SIZE_MAX / 2;
  if (fits) size = rounded(size ? size : 1);
  if (!fits || size > a->left) {
    a->failed = true;
    return NULL;
  }
  a->left -= size;
  return take_from_chunk(a, size);
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
  a->left = limit;
  a->failed = false;
}

void arena_end(struct arena *a) {
  a->left = 0;
  while (a->chunks) {
    struct chunk *c = a->chunks;
    a->chunks = c->next;
    wipe(c->bytes, c->used);
    free(c);
  }
}
