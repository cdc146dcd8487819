#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- fault points ---- */

#ifdef FLEET_FAULT_POINTS
static long fault_steps;

void file_fault_after(long steps) {
  fault_steps = steps;
}

static void step(void) {
  if (fault_steps > 0 && --fault_steps == 0) raise(SIGKILL);
}
#else
static void step(void) {}
#endif

/* ---- failures ---- */

/* Only the last component is named: directories may tell more about a person than an error has to. */
static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

static bool fail(struct err *e, const char *what, const char *path, int error) {
  char reason[128] = "";
  const char *text = error == ELOOP ? "it is a symbolic link" : strerror_r(error, reason, sizeof reason);
  return err_set(e, KIND_store, "cannot %s '%s': %s", what, last_component(path), text);
}

/* ---- reading ---- */

static bool take_in(struct buf *out, int fd, size_t limit) {
  for (size_t total = 0;;) {
    if (!buf_reserve(out, 4096)) return errno = ENOMEM, false;
    ssize_t n = read(fd, out->data + out->size, out->capacity - out->size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    if ((total += (size_t)n) > limit) return errno = EFBIG, false;
    out->size += (size_t)n;
    out->data[out->size] = '\0';
  }
}

static struct file_facts facts_of(const struct stat *s) {
  return (struct file_facts){s->st_mode & 07777, s->st_uid == geteuid()};
}

static bool read_open(struct buf *out, int fd, size_t limit, struct file_facts *facts) {
  struct stat s;
  if (fstat(fd, &s) != 0) return false;
  if (S_ISDIR(s.st_mode)) return errno = EISDIR, false;
  if (!S_ISREG(s.st_mode)) return errno = EINVAL, false;
  if (facts) *facts = facts_of(&s);
  return take_in(out, fd, limit);
}

/* O_NONBLOCK: a pipe that somebody put in the file's place must not stop the process. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags,
                           struct file_facts *facts, struct err *e) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (flags & FILE_FOLLOW ? 0 : O_NOFOLLOW));
  if (fd < 0) {
    int error = errno;
    fail(e, "open", path, error);
    return error == ENOENT || error == ENOTDIR ? FILE_ABSENT : FILE_FAILED;
  }
  bool done = read_open(out, fd, limit, facts);
  if (!done) fail(e, "read", path, errno);
  close(fd);
  return done ? FILE_OK : FILE_FAILED;
}

bool file_remove(const char *path, struct err *e) {
  step();
  return unlink(path) == 0 || errno == ENOENT || fail(e, "remove", path, errno);
}

bool file_real_path(struct buf *out, const char *path, struct err *e) {
  char *real = realpath(path, NULL);
  if (!real) return fail(e, "find", path, errno);
  buf_text_add(out, real);
  free(real);
  return buf_ok(out) || err_out_of_memory(e);
}

/* ---- directories ---- */

static bool make_one(const char *path, struct err *e) {
  return mkdir(path, 0700) == 0 || errno == EEXIST || fail(e, "make the directory", path, errno);
}

bool directory_make(const char *path, struct err *e) {
  struct stat s;
  if (stat(path, &s) == 0) return S_ISDIR(s.st_mode) || fail(e, "make the directory", path, ENOTDIR);
  char *copy = strdup(path);
  if (!copy) return err_out_of_memory(e);
  bool made = true;
  for (char *slash = strchr(copy + (*copy == '/'), '/'); made && slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    made = stat(copy, &s) == 0 || make_one(copy, e);
    *slash = '/';
  }
  free(copy);
  return made && make_one(path, e);
}

bool directory_facts(const char *path, struct file_facts *facts, struct err *e) {
  struct stat s;
  if (stat(path, &s) != 0) return fail(e, "open", path, errno);
  if (!S_ISDIR(s.st_mode)) return fail(e, "open", path, ENOTDIR);
  *facts = facts_of(&s);
  return true;
}

bool directory_list(struct buf *names, const char *path, struct err *e) {
  DIR *directory = opendir(path);
  if (!directory) return fail(e, "read", path, errno);
  for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
    if (entry->d_name[0] != '.') buf_add(names, entry->d_name, strlen(entry->d_name) + 1);
  closedir(directory);
  return buf_ok(names) || err_out_of_memory(e);
}

static bool sync_directory(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = fsync(fd) == 0;
  int error = errno;
  close(fd);
  errno = error;
  return done;
}

/* ---- drafts ---- */

static char *joined(const char *directory, const char *name, const char *ending) {
  char *path = NULL;
  return asprintf(&path, "%s/%s%s", directory, name, ending) < 0 ? NULL : path;
}

static bool is_ours(int fd, long pid) {
  return fd >= 0 && pid == (long)getpid();
}

/* Somebody's lock on the file shows that it is in use; without one its process is gone. */
static bool remove_left(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT;
  bool free_to_go = flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0;
  int error = errno;
  close(fd);
  errno = error;
  return free_to_go;
}

static int create(char *path, bool named) {
  if (!named) return mkostemp(path, O_CLOEXEC); /* O_EXCL, 0600, a random ending */
  if (!remove_left(path)) return -1;
  return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

bool file_draft_open(struct file_draft *d, const char *directory, const char *name, const char *ending,
                     struct err *e) {
  d->directory = strdup(directory);
  d->target = joined(directory, name, "");
  d->temporary = joined(directory, name, ending ? ending : ".XXXXXX");
  if (!d->directory || !d->target || !d->temporary) {
    file_draft_close(d);
    return err_out_of_memory(e);
  }
  d->pid = getpid();
  d->fd = create(d->temporary, ending != NULL);
  if (d->fd >= 0 && fchmod(d->fd, 0600) == 0 && flock(d->fd, LOCK_EX | LOCK_NB) == 0) return step(), true;
  if (errno == EWOULDBLOCK)
    err_set(e, KIND_busy, "'%s' is being written by somebody else", last_component(d->target));
  else
    fail(e, "write", d->target, errno);
  file_draft_close(d);
  return false;
}

/* Writing beyond a file size limit raises SIGXFSZ, which would end the host. */
struct size_guard {
  sigset_t mask;
  bool pending;
};

static void guard_begin(struct size_guard *g) {
  sigset_t only, pending;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  sigpending(&pending);
  g->pending = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &only, &g->mask);
}

static void guard_end(const struct size_guard *g) {
  int error = errno;
  const struct timespec now = {0, 0};
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  if (!g->pending) sigtimedwait(&only, NULL, &now);
  pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
  errno = error;
}

static bool write_all(int fd, const unsigned char *data, size_t size, off_t at) {
  while (size) {
    ssize_t n = pwrite(fd, data, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? (errno = ENOSPC, false) : false;
    data += n, size -= (size_t)n, at += n;
  }
  return true;
}

static bool write_zeros(int fd, size_t size) {
  static const unsigned char zeros[4096];
  for (size_t at = 0; at < size; at += sizeof zeros)
    if (!write_all(fd, zeros, size - at < sizeof zeros ? size - at : sizeof zeros, (off_t)at)) return false;
  return true;
}

/* Some file systems cannot reserve: there the bytes are written. */
static bool reserve(int fd, size_t size) {
  int error = posix_fallocate(fd, 0, (off_t)size);
  if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS) return write_zeros(fd, size);
  errno = error;
  return error == 0;
}

bool file_draft_reserve(struct file_draft *d, size_t size, struct err *e) {
  struct size_guard guard;
  if (size == 0) size = 1;
  guard_begin(&guard);
  bool done = reserve(d->fd, size);
  guard_end(&guard);
  step();
  return done || fail(e, "reserve space for", d->target, errno);
}

/* In two halves, so that a test can kill the process between them. */
static bool write_halves(int fd, struct bytes content) {
  size_t half = content.size / 2;
  if (!write_all(fd, content.data, half, 0)) return false;
  step();
  return write_all(fd, content.data + half, content.size - half, (off_t)half);
}

bool file_draft_write(struct file_draft *d, struct bytes content, bool durable, struct err *e) {
  struct size_guard guard;
  guard_begin(&guard);
  bool done = write_halves(d->fd, content) && ftruncate(d->fd, (off_t)content.size) == 0;
  guard_end(&guard);
  step();
  if (done && durable) done = fsync(d->fd) == 0;
  step();
  return done || fail(e, "write", d->target, errno);
}

bool file_draft_keep(struct file_draft *d, bool durable, struct err *e) {
  if (rename(d->temporary, d->target) != 0) return fail(e, "replace", d->target, errno);
  step();
  free(d->temporary);
  d->temporary = NULL;
  bool done = !durable || sync_directory(d->directory) || fail(e, "write", d->target, errno);
  file_draft_close(d);
  step();
  return done;
}

void file_draft_close(struct file_draft *d) {
  if (is_ours(d->fd, d->pid) && d->temporary) unlink(d->temporary);
  if (d->fd >= 0) close(d->fd);
  free(d->directory);
  free(d->target);
  free(d->temporary);
  *d = (struct file_draft)FILE_DRAFT_INIT;
}

void file_sweep(const char *path) {
  enum { OLD = 60 };
  struct stat s;
  struct timespec now;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  clock_gettime(CLOCK_REALTIME, &now);
  bool left_behind = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && now.tv_sec - s.st_mtime > OLD;
  if (left_behind && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path);
  close(fd);
}

/* ---- locks ---- */

bool file_lock_take(struct file_lock *l, const char *path, struct err *e) {
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return fail(e, "open", path, errno);
  int error = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error) {
    close(fd);
    if (error == EWOULDBLOCK)
      return err_set(e, KIND_busy, "'%s' is locked by somebody else", last_component(path));
    return fail(e, "lock", path, error);
  }
  *l = (struct file_lock){fd, getpid()};
  step();
  return true;
}

enum { NUMBER_SIZE = 21 }; /* "%020llu\n": always the same length, so that it is never half of two numbers */

bool file_lock_read(const struct file_lock *l, uint64_t *number, struct err *e) {
  char text[NUMBER_SIZE + 1] = "";
  ssize_t n = pread(l->fd, text, NUMBER_SIZE, 0);
  if (n < 0) return fail(e, "read", "lock", errno);
  *number = strtoull(text, NULL, 10);
  return true;
}

bool file_lock_write(const struct file_lock *l, uint64_t number, struct err *e) {
  char text[NUMBER_SIZE + 1];
  struct size_guard guard;
  snprintf(text, sizeof text, "%020llu\n", (unsigned long long)number);
  guard_begin(&guard);
  bool done = write_all(l->fd, (const unsigned char *)text, NUMBER_SIZE, 0);
  guard_end(&guard);
  step();
  return done || fail(e, "write", "lock", errno);
}

/* LOCK_UN and not only close: a forked child may still hold a copy of the descriptor. */
void file_lock_release(struct file_lock *l) {
  if (l->fd < 0) return;
  step();
  if (is_ours(l->fd, l->pid)) flock(l->fd, LOCK_UN);
  close(l->fd);
  *l = (struct file_lock)FILE_LOCK_INIT;
  step();
}
