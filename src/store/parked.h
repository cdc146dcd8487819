/* Files that stay open between two calls of a store, so that the next one need not open them.
 *
 * They are only a shorter way to what opening would give: whoever takes one asks whether it is still the file
 * at its path. A descriptor that the host closed meanwhile, and that may be another file by now, is neither
 * given nor closed. Nothing in here is locked. A fork empties it, in the parent too: a lock that is taken
 * later would last as long as a child with a copy of the descriptor. One pool serves all stores of a Lua
 * state, so that thousands of stores keep no more files open than one.
 */
#ifndef FLEET_STORE_PARKED_H
#define FLEET_STORE_PARKED_H

#include "base/file.h"

struct open_file {
  int fd; /* -1: none */
  unsigned forks;
  uint64_t device, inode, owner;
};
#define OPEN_FILE_INIT                                                                                       \
  { -1, 0, 0, 0, 0 }

struct parked; /* reference-counted */

struct parked *parked_new(struct err *e);
struct parked *parked_ref(struct parked *p);
void parked_unref(struct parked *p);

/* The part of one store. */
struct parking {
  struct parked *pool;
  bool allowed; /* whether files stay open; else the next one that is done with is closed */
};

/* Opens the path, its reading unrecorded where the system lets us: the time of each would be written to the
 * disk. -1 with errno set. */
int parking_open(struct parking *p, const char *path, int flags);
/* What was parked under the last component of the path. */
bool parking_take(struct parking *p, const char *path, struct open_file *f);
/* Parks the file, or closes it. */
void parking_leave(struct parking *p, const char *path, struct open_file *f);
void parking_empty(struct parking *p);

/* Of a file that was opened after the last parking_take. */
void open_file_set(struct open_file *f, const struct parking *p, int fd, const struct file_facts *facts);
/* Whether it is the file at the path, of its owner still. */
bool open_file_is_at(const struct open_file *f, const char *path, struct file_facts *facts);
void open_file_close(struct open_file *f);

#endif
