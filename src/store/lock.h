/* A lock on a file that is never renamed, with a checked number in the file. It ends with its process.
 *
 * It uses flock, not fcntl: flock also excludes two states of one process, and stays when other code closes
 * the file. A lock that was opened before a fork belongs to the parent: the child only closes it. Nothing
 * here waits.
 */
#ifndef FLEET_STORE_LOCK_H
#define FLEET_STORE_LOCK_H

#include "base/err.h"
#include "store/record.h"

struct lock {
  int fd;              /* -1: none */
  unsigned generation; /* of the process that took it */
};
#define LOCK_INIT                                                                                            \
  { -1, 0 }

enum lock_result { LOCK_TAKEN, LOCK_HELD /* by another process or state */, LOCK_FAILED };

/* Makes the file where there is none. One of another owner is refused. */
enum lock_result lock_take(struct lock *l, const char *path, struct err *e);
bool lock_is_childs(const struct lock *l); /* it was taken before a fork, by the parent */
bool lock_is_ours(const struct lock *l);   /* taken in this process, and its file was not removed */
void lock_close(struct lock *l);

enum number_state {
  NUMBER_GOOD,
  NUMBER_NONE, /* a new file */
  NUMBER_OLD,  /* of version 1, without a check */
  NUMBER_DAMAGED,
  NUMBER_UNREAD, /* e says why */
};
enum number_state lock_read(const struct lock *l, uint64_t *number, struct err *e);
bool lock_write(const struct lock *l, uint64_t number, struct err *e);
bool lock_clear(const struct lock *l, struct err *e); /* before a damaged number is written anew */

/* The text of a number and back: always of one length, so that it is never half of two numbers. */
enum { NUMBER_SIZE = 26, NUMBER_OLD_SIZE = 21 };
void number_format(char text[NUMBER_SIZE + 1], uint64_t number);
enum number_state number_parse(struct bytes text, uint64_t *number);

#endif
