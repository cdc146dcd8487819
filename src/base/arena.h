/* An allocator for many small pieces with a limit. arena_end wipes and frees all of them.
 *
 * Two bytes of input can cost a struct of forty bytes: the limit stops hostile input that grows twenty-fold.
 * The struct is small: one in a box of Lua stays in memory, empty, until the collector finds it.
 */
#ifndef FLEET_BASE_ARENA_H
#define FLEET_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
  struct chunk *chunks; /* owned; the newest first */
  size_t left;          /* of the limit */
  bool failed;          /* an allocation failed: structures in the arena are incomplete */
};

void arena_start(struct arena *a, size_t limit);
void *arena_take(struct arena *a, size_t size); /* zeroed, aligned; NULL beyond the limit */
/* The same for protobuf-c's allocator, whose context is the arena. Pieces live until arena_end. */
void *arena_allocate(void *arena, size_t size);
void arena_keep(void *arena, void *piece);
void arena_end(struct arena *a);

#endif
