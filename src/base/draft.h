/* A file being written beside the one it will replace: whole or not at all.
 *
 * A lost token locks its owner out. A durable write therefore has two steps: file_draft_reserve allocates the
 * space before the token is exchanged, and the write after it cannot fail because the disk is full. The
 * signal of a file size limit is handled here. A draft that was opened before a fork belongs to the parent:
 * the child closes it, and never unlocks or removes it.
 */
#ifndef FLEET_BASE_DRAFT_H
#define FLEET_BASE_DRAFT_H

#include "base/buf.h"
#include "base/err.h"

/* 0600, locked so that others leave it alone. Everything before file_draft_keep leaves the old file
 * untouched. Its name is name.XXXXXX; or name and ending, so that what a killed process had written whole can
 * be found: KIND_busy while another process has that one open; a left one is replaced. */
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
/* The same where there is no such file; KIND_conflict where there is one, and the draft stays. */
bool file_draft_keep_new(struct file_draft *d, bool durable, struct err *e);
void file_draft_close(struct file_draft *d); /* removes the file unless it was kept */

/* Removes a draft that a process left behind and no process has open. False with errno set when it cannot be
 * removed. */
bool file_draft_remove_left(const char *path);

/* Bytes written over a file in place. False with errno set. */
bool file_overwrite(int fd, struct bytes content);

bool directory_sync(const char *path); /* names in it are on the disk; false with errno set */

#endif
