#include "base/draft.h"

#include "base/file.h"
#include "base/sigpipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool directory_sync(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = fsync(fd) == 0;
  int error = errno;
  close(fd);
  errno = error;
  return done;
}

static char *joined(const char *directory, const char *name, const char *ending) {
  char *path = NULL;
  return asprintf(&path, "%s/%s%s", directory, name, ending) < 0 ? NULL : path;
}

static bool is_ours(int fd, long pid) {
  return fd >= 0 && pid == (long)getpid();
}

/* Locks the file at path that fd was opened from. Between opening and locking another process may have
 * removed or renamed it: a lock on the old file says nothing about path. */
static bool lock_at(int fd, const char *path) {
  struct stat own, there;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  if (fstat(fd, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino &&
      own.st_dev == there.st_dev)
    return true;
  return errno = EWOULDBLOCK, false;
}

/* A lock on the file shows that it is in use; without one its process is gone. */
bool file_draft_remove_left(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && errno == EACCES) return unlink(path) == 0; /* another user's, in a directory of ours */
  if (fd < 0) return errno == ENOENT;
  bool free_to_go = lock_at(fd, path) && unlink(path) == 0;
  int error = errno;
  close(fd);
  errno = error;
  return free_to_go;
}

static int create(char *path, bool named) {
  if (!named) return mkostemp(path, O_CLOEXEC); /* O_EXCL, 0600, a random ending */
  if (!file_draft_remove_left(path)) return -1;
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) errno = EWOULDBLOCK; /* another process was faster */
  return fd;
}

static const char *name_in(const char *path) {
  return strrchr(path, '/') + 1;
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
  if (d->fd >= 0 && fchmod(d->fd, 0600) == 0 && lock_at(d->fd, d->temporary)) return file_step(), true;
  if (errno == EWOULDBLOCK) {
    err_set(e, KIND_busy, "'%s' is being written by another process", name_in(d->target));
    free(d->temporary);
    d->temporary = NULL; /* closing must not remove theirs */
  } else {
    file_fail(e, "write", d->target, errno);
  }
  file_draft_close(d);
  return false;
}

/* Writing beyond a file size limit raises SIGXFSZ, which would end the host. One that waited already is the
 * host's; it can only be there where the host blocks it. */
struct size_guard {
  sigset_t mask;
  bool pending;
};

static bool only_size_limit(sigset_t *set) {
  return sigemptyset(set) == 0 && sigaddset(set, SIGXFSZ) == 0;
}

static void guard_begin(struct size_guard *g) {
  sigset_t only, pending;
  only_size_limit(&only);
  pthread_sigmask(SIG_BLOCK, &only, &g->mask);
  g->pending =
      sigismember(&g->mask, SIGXFSZ) == 1 && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static void guard_end(const struct size_guard *g, bool done) {
  int error = errno;
  if (!done && !g->pending) signal_discard(SIGXFSZ);
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
#if _POSIX_ADVISORY_INFO > 0
  int error = posix_fallocate(fd, 0, (off_t)size);
#else
  int error = ENOSYS;
#endif
  if (error == EOPNOTSUPP || error == EINVAL || error == ENOSYS) return write_zeros(fd, size);
  errno = error;
  return error == 0;
}

bool file_overwrite(int fd, struct bytes content) {
  struct size_guard guard;
  guard_begin(&guard);
  bool done = write_all(fd, content.data, content.size, 0);
  guard_end(&guard, done);
  file_step();
  return done;
}

bool file_draft_reserve(struct file_draft *d, size_t size, struct err *e) {
  struct size_guard guard;
  if (size == 0) size = 1;
  guard_begin(&guard);
  bool done = reserve(d->fd, size);
  guard_end(&guard, done);
  file_step();
  return done || file_fail(e, "reserve space for", d->target, errno);
}

/* In two halves, so that a test can kill the process between them. */
static bool write_halves(int fd, struct bytes content) {
  size_t half = content.size / 2;
  if (!write_all(fd, content.data, half, 0)) return false;
  file_step();
  return write_all(fd, content.data + half, content.size - half, (off_t)half);
}

bool file_draft_write(struct file_draft *d, struct bytes content, bool durable, struct err *e) {
  struct size_guard guard;
  guard_begin(&guard);
  bool done = write_halves(d->fd, content) && ftruncate(d->fd, (off_t)content.size) == 0;
  guard_end(&guard, done);
  file_step();
  if (done && durable) done = fsync(d->fd) == 0;
  file_step();
  return done || file_fail(e, "write", d->target, errno);
}

static bool finish(struct file_draft *d, bool durable, struct err *e) {
  file_step();
  free(d->temporary);
  d->temporary = NULL;
  bool done = !durable || directory_sync(d->directory) || file_fail(e, "write", d->target, errno);
  file_draft_close(d);
  file_step();
  return done;
}

bool file_draft_keep(struct file_draft *d, bool durable, struct err *e) {
  if (rename(d->temporary, d->target) != 0) return file_fail(e, "replace", d->target, errno);
  return finish(d, durable, e);
}

bool file_draft_keep_new(struct file_draft *d, bool durable, struct err *e) {
  if (link(d->temporary, d->target) == 0) return unlink(d->temporary), finish(d, durable, e);
  if (errno == EEXIST) return err_set(e, KIND_conflict, "'%s' exists already", d->target);
  return file_fail(e, "make", d->target, errno);
}

void file_draft_close(struct file_draft *d) {
  if (is_ours(d->fd, d->pid)) {
    if (d->temporary) unlink(d->temporary);
    flock(d->fd, LOCK_UN); /* a forked child may still hold a copy of the descriptor */
  }
  if (d->fd >= 0) close(d->fd);
  free(d->directory);
  free(d->target);
  free(d->temporary);
  *d = (struct file_draft)FILE_DRAFT_INIT;
}
