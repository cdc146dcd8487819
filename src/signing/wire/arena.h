/* Memory for one message: given out piece by piece, released and wiped at once, and never more than a limit.
 *
 * protobuf-c allocates many small pieces while it reads, and two bytes on the wire can cost a forty-byte
 * struct: without a limit a hostile message grows twenty-fold. The first pieces come from the arena itself,
 * so that an ordinary message costs no allocation.
 */
#ifndef FLEET_SIGNING_ARENA_H
#define FLEET_SIGNING_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
  struct chunk *chunks; /* owned */
  size_t used;          /* of first */
  size_t left;          /* of the limit */
  _Alignas(8) unsigned char first[2048];
};

void arena_start(struct arena *a, size_t limit);
void *arena_take(struct arena *a, size_t size); /* zeroed, aligned; NULL beyond the limit */
/* The same for protobuf-c's allocator, whose context is the arena. Pieces live until arena_end. */
void *arena_allocate(void *arena, size_t size);
void arena_keep(void *arena, void *piece);
void arena_end(struct arena *a);

#endif
