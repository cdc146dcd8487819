/* Records in the files of one directory, for several states and processes of one machine.
 *
 * A file per key, named by the key's digest. What must last is written beside its place, synced and renamed
 * over it; what need not is written over its old record, which costs a fiftieth: a reader that meets it half
 * written reads again under the lock. A lock on one file orders changes; it is kept for some
 * microseconds and never during a sync. A record's generation counts on from the one before; a new record's
 * counts on from a number in the lock's file, which is beyond those of all records that were removed. A lease
 * is a lock on a file of its own with its fence in it. Nothing here waits: STORE_AGAIN says that another
 * process writes at this moment.
 */
#ifndef FLEET_STORE_STORE_H
#define FLEET_STORE_STORE_H

#include "base/draft.h"
#include "base/err.h"
#include "store/counters.h"
#include "store/lock.h"
#include "store/record.h"

#include <dirent.h>

enum store_result {
  STORE_DONE,
  STORE_ABSENT,
  STORE_AGAIN,  /* nothing was changed: call again in a moment */
  STORE_FAILED, /* e says why: KIND_store, KIND_conflict, KIND_busy for a lease of another process */
};

struct store {
  struct crypto *crypto;
  char *directory; /* without symbolic links */
  char *path;      /* of the file at hand; its name ends at stem */
  size_t stem;
  char *lock_path;
  struct lock lock;
  struct buf key;   /* whose file is at hand */
  struct buf text;  /* the record at hand */
  DIR *sweep;       /* open while a sweep is not at its end, else NULL */
  char notice[256]; /* something that the owner should know, or "": taken by the caller */
};
#define STORE_INIT                                                                                           \
  { NULL, NULL, NULL, 0, NULL, LOCK_INIT, BUF_INIT, BUF_INIT, NULL, "" }

/* Makes the directory where it is not there. Takes a reference of c. */
bool store_open(struct store *s, const char *directory, struct crypto *c, struct err *e);
void store_close(struct store *s);

/* wall: milliseconds. The record's views last until the next call. */
enum store_result store_get(struct store *s, struct bytes key, uint64_t wall, struct record *r,
                            struct err *e);

enum { STORE_NAME_SIZE = 64 };

struct lease {
  struct lock lock;
  uint64_t fence;
};
#define LEASE_INIT                                                                                           \
  { LOCK_INIT, 0 }

/* A record that a killed process had written and not yet renamed is taken over first. */
enum store_result store_lease(struct store *s, struct bytes key, struct lease *l, struct err *e);
/* Removes the lock's file when the key has no record. */
void store_release(struct store *s, struct bytes key, struct lease *l);
void lease_close(struct lease *l); /* does without the store */

/* The put that brings the draft cannot fail for lack of space, nor for lack of a generation. */
enum store_result store_reserve(struct store *s, struct bytes key, size_t size, struct file_draft *d,
                                struct err *e);

struct put {
  struct bytes value;
  bool durable, compares;
  uint64_t generation;       /* compares: 0 creates only */
  uint64_t ends, wall;       /* milliseconds; ends 0: never */
  const struct lease *lease; /* or NULL */
  struct file_draft *draft;  /* of store_reserve, or NULL */
  uint64_t drawn;            /* of store_next: nothing is written over a record as new as that; 0: none */
  uint64_t beyond;           /* the put gets a larger generation than this one of a deferred record */
};
enum store_result store_put(struct store *s, struct bytes key, const struct put *p, uint64_t *generation,
                            struct err *e);

/* Generations of immediate writes are multiples of GENERATION_STEP. Deferred records count on from
 * the last of them, one by one, and gives way to the next. */
enum { GENERATION_STEP = 1024 };

/* The generation of a deferred record. */
enum store_result store_next(struct store *s, struct bytes key, uint64_t *generation, struct err *e);

/* Adds to the counters of the key atomically. */
struct addition {
  struct counter *list;
  size_t count;
  uint64_t ends, wall; /* milliseconds; ends 0: never */
};
enum store_result store_add(struct store *s, struct bytes key, struct addition *a, struct err *e);

/* Looks at the next count files of the directory: adds the keys of the records that have ended to keys, a NUL
 * behind each, and removes locks that no record and no process needs. False after the last file: the next
 * call begins again. */
bool store_sweep(struct store *s, uint64_t wall, size_t count, struct buf *keys);

/* expired: only when its time has passed. Its lock goes with it. */
struct removal {
  bool compares, expired;
  uint64_t generation, wall;
};
enum store_result store_remove(struct store *s, struct bytes key, const struct removal *how, struct err *e);

#endif
