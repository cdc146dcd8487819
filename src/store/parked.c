#include "store/parked.h"

#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef O_NOATIME
#define O_NOATIME 0
#endif

/* Most: also no more than a share of what the process may open. A file is parked in one of some places in a
 * row. */
enum { MOST = 128, SHARE = 8, ROW = 16, NAME_SIZE = 80, MARK_SIZE = 8 };

struct parked_file {
  const struct parking *owner;
  struct open_file file;
  char name[NAME_SIZE];
};

struct parked {
  unsigned references, forks;
  size_t most, next;    /* next: of a row, the place that is cleared where all are taken */
  uint64_t marks[MOST]; /* of a place, from its name and its owner; 0: free */
  struct parked_file places[MOST];
};

/* ---- one file ---- */

/* Counted before it was opened: another thread may have forked since. */
void open_file_set(struct open_file *f, const struct parking *p, int fd, const struct file_facts *facts) {
  *f = (struct open_file){fd, p->pool->forks, facts->device, facts->inode, facts->owner};
}

bool open_file_is_at(const struct open_file *f, const char *path, struct file_facts *facts) {
  return file_facts_at(path, facts) && facts->device == f->device && facts->inode == f->inode &&
         facts->owner == f->owner;
}

void open_file_close(struct open_file *f) {
  if (f->fd >= 0) close(f->fd);
  *f = (struct open_file)OPEN_FILE_INIT;
}

/* ---- the pool ---- */

static size_t most_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / SHARE > MOST) return MOST;
  return (size_t)(limit.rlim_cur / SHARE);
}

struct parked *parked_new(struct err *e) {
  struct parked *p = calloc(1, sizeof *p);
  if (!p) return err_out_of_memory(e), NULL;
  p->references = 1;
  p->forks = fork_count();
  p->most = most_files();
  return p;
}

struct parked *parked_ref(struct parked *p) {
  p->references++;
  return p;
}

/* A host that becomes a daemon closes what it did not open, and its own files get these numbers. */
static bool is_still(const struct open_file *f) {
  struct file_facts facts;
  return file_facts_of(f->fd, &facts) && facts.device == f->device && facts.inode == f->inode;
}

static void clear(struct parked *p, size_t i) {
  if (p->marks[i] && is_still(&p->places[i].file)) open_file_close(&p->places[i].file);
  p->marks[i] = 0;
}

static void clear_all(struct parked *p) {
  for (size_t i = 0; i < p->most; i++) clear(p, i);
}

void parked_unref(struct parked *p) {
  if (!p || --p->references > 0) return;
  clear_all(p);
  free(p);
}

/* ---- the part of one store ---- */

static const char *name_in(const char *path) {
  return strrchr(path, '/') + 1;
}

/* Names are digests. */
static uint64_t mark_of(const struct parking *owner, const char *name) {
  uint64_t mark = 0;
  size_t size = strlen(name);
  memcpy(&mark, name, size < MARK_SIZE ? size : MARK_SIZE);
  mark = (mark ^ (uintptr_t)owner ^ size) * UINT64_C(0x9e3779b97f4a7c15);
  return (mark ^ mark >> 32) | 1;
}

/* The place, of those where the mark may stand, with what is looked for; most: none. */
static size_t find(const struct parked *p, uint64_t mark, uint64_t wanted) {
  for (size_t i = 0; i < ROW; i++) {
    size_t at = (size_t)((mark >> 1) + i) % p->most;
    if (p->marks[at] == wanted) return at;
  }
  return p->most;
}

static bool forked_since(struct parked *p) {
  if (p->forks == fork_count()) return false;
  clear_all(p);
  p->forks = fork_count();
  return true;
}

bool parking_take(struct parking *owner, const char *path, struct open_file *f) {
  struct parked *p = owner->pool;
  if (forked_since(p) || p->most == 0) return false;
  const char *name = name_in(path);
  uint64_t mark = mark_of(owner, name);
  size_t i = find(p, mark, mark);
  if (i == p->most || p->places[i].owner != owner || strcmp(p->places[i].name, name) != 0) return false;
  p->marks[i] = 0;
  if (!is_still(&p->places[i].file)) return false;
  *f = p->places[i].file;
  return true;
}

static size_t clear_place(struct parked *p, uint64_t mark) {
  size_t i = find(p, mark, 0);
  if (i == p->most) i = (size_t)((mark >> 1) + p->next++ % ROW) % p->most;
  clear(p, i);
  return i;
}

/* What a host prints without a standard output goes where that would be. */
static bool may_stay(const struct parking *owner, const struct open_file *f) {
  return owner->allowed && owner->pool->most > 0 && f->fd > STDERR_FILENO && f->forks == owner->pool->forks;
}

void parking_leave(struct parking *owner, const char *path, struct open_file *f) {
  struct parked *p = owner->pool;
  const char *name = name_in(path);
  size_t size = strlen(name);
  if (forked_since(p) || !may_stay(owner, f) || size >= NAME_SIZE) return open_file_close(f);
  uint64_t mark = mark_of(owner, name);
  size_t i = clear_place(p, mark);
  p->marks[i] = mark;
  p->places[i].owner = owner;
  p->places[i].file = *f;
  memcpy(p->places[i].name, name, size + 1);
  *f = (struct open_file)OPEN_FILE_INIT;
}

void parking_empty(struct parking *owner) {
  struct parked *p = owner->pool;
  for (size_t i = 0; p && i < p->most; i++)
    if (p->marks[i] && p->places[i].owner == owner) clear(p, i);
}

/* ---- opening ---- */

static int open_unrecorded(const char *path, int flags) {
  int fd = open(path, flags | O_NOATIME, 0600);
  return fd < 0 && errno == EPERM ? open(path, flags, 0600) : fd; /* another user's */
}

/* What is parked must not be what is missing. */
int parking_open(struct parking *p, const char *path, int flags) {
  int fd = open_unrecorded(path, flags);
  if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
  clear_all(p->pool);
  return open_unrecorded(path, flags);
}
