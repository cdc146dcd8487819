/* Functions that the files of this room share. Those with "locked" in their name need the store's lock. */
#ifndef FLEET_STORE_INTERNAL_H
#define FLEET_STORE_INTERNAL_H

#include "store/store.h"

#define ENDING_LEASE ".lease"
#define ENDING_RESERVED ".reserved"
#define ENDING_DRAFT ".draft"

enum { PAGE = 4096 /* what one write puts down as a whole, seen from other processes */ };

/* Chooses the file of the key; store_path gives it with an ending. */
bool store_choose(struct store *s, struct bytes key, struct err *e);
const char *store_path(struct store *s, const char *ending);
const char *store_name(struct store *s); /* of the file of the key, without its directory */
void store_notice(struct store *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum store_result store_enter(struct store *s, struct err *e);
enum store_result store_leave(struct store *s, enum store_result result);

/* The file found under the chosen name. */
struct found {
  struct record record; /* its views last until the next look */
  bool exists, damaged;
  size_t size; /* of its text */
  int fd;      /* open for writing, where it was asked for; else -1 */
};
#define FOUND_INIT                                                                                           \
  { .fd = -1 }
void found_close(struct found *f);
/* False: e says why. A damaged file counts as missing, and the owner gets a warning. */
bool store_look(struct store *s, struct bytes key, struct found *f, bool writing, struct err *e);
bool record_alive(const struct record *r, uint64_t wall);

/* The generation after that of the record, or of a new one: beyond those of all that were removed. */
bool store_next_locked(struct store *s, const struct found *before, uint64_t *generation, struct err *e);
/* No new record gets the generation of one that is removed now, and no new lock its fence. */
bool store_passed_locked(struct store *s, uint64_t generation, struct err *e);
/* The number beyond all of those. */
bool store_number_locked(struct store *s, uint64_t *number, struct err *e);
/* Removes the lock of the chosen key, which the caller holds, unless there is a record. */
void store_forget_lock(struct store *s, const struct lock *l, uint64_t fence);
void store_forget_lock_of(struct store *s); /* the same, unless it is held */
bool store_has_record(struct store *s);     /* whether the chosen key has a file */
bool store_is_record(const char *name);     /* whether a file of that name holds one */
/* A put that need not last, over what was found with the file open for writing, which is closed. */
enum store_result store_put_on(struct store *s, struct bytes key, const struct put *p, struct found *before,
                               uint64_t *generation, struct err *e);

#endif
