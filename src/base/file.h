/* Files: read whole with a bound, and what else is done to names in directories.
 *
 * Every failure names the last component of the path and the reason; more of a path may identify a person.
 */
#ifndef FLEET_BASE_FILE_H
#define FLEET_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

enum { FILE_FOLLOW = 1 /* a symbolic link as last component is followed; otherwise refused */ };

struct file_facts {
  unsigned mode; /* permission bits */
  bool mine;     /* owned by the effective user */
  bool linked;   /* has a name still */
  uint64_t size, device, inode, owner;
};

enum file_result { FILE_OK, FILE_ABSENT, FILE_FAILED };

/* A regular file of at most limit bytes, appended to out. facts may be NULL. FILE_ABSENT sets e too. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags,
                           struct file_facts *facts, struct err *e);
/* The same of a descriptor, which stays open. False with errno set. */
bool file_read_open(struct buf *out, int fd, size_t limit, struct file_facts *facts);
/* The same in steps. What is no regular file has no facts; a symbolic link is none. */
bool file_facts_open(int fd, struct file_facts *facts);
bool file_facts_of(int fd, struct file_facts *facts);           /* but whether it is mine */
bool file_facts_at(const char *path, struct file_facts *facts); /* the same */
bool file_read_known(struct buf *out, int fd, size_t limit, const struct file_facts *facts);
bool file_remove(const char *path, struct err *e); /* true when it was not there */
bool file_real_path(struct buf *out, const char *path, struct err *e);

/* 0700, with its parents; true when it is there already */
bool directory_make(const char *path, struct err *e);
bool directory_facts(const char *path, struct file_facts *facts, struct err *e);
/* Each name followed by a NUL; no dot files. */
bool directory_list(struct buf *names, const char *path, struct err *e);

/* KIND_store: "cannot <what> '<last component of path>': <reason>". Returns false. */
bool file_fail(struct err *e, const char *what, const char *path, int error);

/* A step that touches the disk has been made. Only in a build for tests: after so many of them the process
 * kills itself, as a power cut would. */
void file_step(void);
#ifdef FLEET_FAULT_POINTS
void file_fault_after(long steps); /* 0: never */
#endif

#endif
