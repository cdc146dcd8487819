/* Files: read whole with a bound, written whole or not at all, locked for as long as a process lives.
 *
 * A token that was exchanged and then lost locks its owner out (rule R2), so the steps of a durable write stand apart:
 * space is proved before the exchange (file_draft_reserve), and what follows it cannot fail for lack of space. Every
 * failure names the last component of the path and the reason. Signals that a file size limit sends stay in here.
 */
#ifndef FLEET_BASE_FILE_H
#define FLEET_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

enum { FILE_FOLLOW = 1 /* a symbolic link as last component is followed; otherwise refused */ };

struct file_facts {
  unsigned mode; /* permission bits */
  unsigned long owner;
};

enum file_result { FILE_OK, FILE_ABSENT, FILE_FAILED };

/* A regular file of at most limit bytes, appended to out. facts may be NULL. FILE_ABSENT sets e too. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags, struct file_facts *facts,
                           struct err *e);

#endif
