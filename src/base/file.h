/* Files: read whole with a bound, written whole or not at all, locked for as long as a process lives.
 *
 * A token that was exchanged and then lost locks its owner out (rule R2), so the steps of a durable write
 * stand apart: space is proved before the exchange (file_draft_reserve), and what follows it cannot fail for
 * lack of space. Every failure names the last component of the path and the reason. A signal that a file size
 * limit sends stays in here. What was opened before a fork belongs to the parent: in the child it is only
 * closed, never unlocked or removed.
 */
#ifndef FLEET_BASE_FILE_H
#define FLEET_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

enum { FILE_FOLLOW = 1 /* a symbolic link as last component is followed; otherwise refused */ };

struct file_facts {
  unsigned mode; /* permission bits */
  bool mine;     /* owned by the effective user */
};

enum file_result { FILE_OK, FILE_ABSENT, FILE_FAILED };

/* A regular file of at most limit bytes, appended to out. facts may be NULL. FILE_ABSENT sets e too. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags,
                           struct file_facts *facts, struct err *e);
bool file_remove(const char *path, struct err *e); /* true when it was not there */
bool file_real_path(struct buf *out, const char *path, struct err *e);

bool directory_make(const char *path,
                    struct err *e); /* 0700, with its parents; true when it is there already */
bool directory_facts(const char *path, struct file_facts *facts, struct err *e);
bool directory_list(struct buf *names, const char *path,
                    struct err *e); /* each name followed by a NUL; no dot files */

/* A file being written beside the one it will replace, 0600, locked so that others leave it alone. Everything
 * before file_draft_keep leaves the old file untouched. Its name is name.XXXXXX; or name and ending, so that
 * what a killed process had written whole can be found: KIND_busy when somebody has that one open, a left one
 * is replaced. */
struct file_draft {
  int fd; /* -1: none */
  long pid;
  char *directory, *target, *temporary; /* owned */
};
#define FILE_DRAFT_INIT                                                                                      \
  { -1, 0, NULL, NULL, NULL }

bool file_draft_open(struct file_draft *d, const char *directory, const char *name, const char *ending,
                     struct err *e);
bool file_draft_reserve(struct file_draft *d, size_t size, struct err *e);
bool file_draft_write(struct file_draft *d, struct bytes content, bool durable, struct err *e);
bool file_draft_keep(struct file_draft *d, bool durable, struct err *e); /* renames; the draft is closed */
void file_draft_close(struct file_draft *d);                             /* removes what was not kept */
/* Removes a draft that a killed process left: older than a minute and locked by nobody. */
void file_sweep(const char *path);

/* An advisory lock on a file that is never renamed or removed, with a number in it; ends with the process at
 * the latest. flock, not fcntl: it excludes two states of one process too, and does not fall when somebody
 * else closes the file. */
struct file_lock {
  int fd; /* -1: none */
  long pid;
};
#define FILE_LOCK_INIT                                                                                       \
  { -1, 0 }

bool file_lock_take(struct file_lock *l, const char *path,
                    struct err *e); /* never waits; KIND_busy: held elsewhere */
bool file_lock_read(const struct file_lock *l, uint64_t *number, struct err *e); /* 0 in a new file */
bool file_lock_write(const struct file_lock *l, uint64_t number, struct err *e);
void file_lock_release(struct file_lock *l);

/* Only in a build for tests: after so many steps of this file the process kills itself, as a power cut would.
 */
#ifdef FLEET_FAULT_POINTS
void file_fault_after(long steps); /* 0: never */
#endif

#endif
