/* Removes records that have ended, and locks whose record is gone: a caller that uses each key once must not
 * fill the directory. */
#include "base/file.h"
#include "store/internal.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Where a process holds the lease, that process removes the lock at its end. A lock with a record stays, and
 * is not taken: another process that wants it at this moment would find it busy. */
void store_forget_lock_of(struct store *s) {
  struct err ignored;
  struct lease l = LEASE_INIT;
  struct file_facts facts;
  err_clear(&ignored);
  if (store_has_record(s) || !file_facts_at(store_path(s, ENDING_LEASE), &facts)) return;
  if (lock_take(&l.lock, store_path(s, ENDING_LEASE), &ignored) != LOCK_TAKEN) return;
  enum number_state state = lock_read(&l.lock, &l.fence, &ignored);
  if (state != NUMBER_UNREAD && state != NUMBER_DAMAGED) store_forget_lock(s, &l.lock, l.fence);
  lease_close(&l);
}

/* ---- all files ---- */

/* More of a record than its numbers and its key takes. */
enum { HEAD = 1024 };

/* What ended longer ago was more probably written while this machine's clock was right, and it is wrong
 * now. */
static const uint64_t long_ago = UINT64_C(366) * 86400 * 1000;

static bool has_ended(const struct record *r, uint64_t wall) {
  return r->ends != 0 && r->ends <= wall && wall - r->ends < long_ago;
}

static void look_at_record(const char *path, uint64_t wall, struct buf *keys) {
  unsigned char text[HEAD];
  struct record r;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  if (fd < 0) return;
  ssize_t size = pread(fd, text, sizeof text, 0);
  close(fd);
  if (size <= 0 || !record_head(&r, (struct bytes){text, (size_t)size}) || !has_ended(&r, wall)) return;
  buf_add(keys, r.key.data, r.key.size);
  buf_put(keys, '\0');
}

static void look_at(struct store *s, const char *name, uint64_t wall, struct buf *keys) {
  char record[STORE_NAME_SIZE + 1] = "";
  memcpy(record, name, strnlen(name, STORE_NAME_SIZE));
  if (!store_is_record(record)) return;
  buf_clear(&s->key); /* of a file whose key is not known yet */
  memcpy(s->path + s->stem - STORE_NAME_SIZE, record, STORE_NAME_SIZE);
  const char *ending = name + STORE_NAME_SIZE;
  if (*ending == '\0') look_at_record(store_path(s, ""), wall, keys);
  if (strcmp(ending, ENDING_LEASE) == 0) store_forget_lock_of(s);
}

/* A forked child shares the position in the directory: what it reads, its parent leaves to the next sweep. */
bool store_sweep(struct store *s, uint64_t wall, size_t count, struct buf *keys) {
  struct dirent *entry = NULL;
  if (!s->sweep) s->sweep = opendir(s->directory);
  while (s->sweep && count-- && (entry = readdir(s->sweep))) look_at(s, entry->d_name, wall, keys);
  if (!entry && s->sweep) closedir(s->sweep), s->sweep = NULL;
  return entry;
}
