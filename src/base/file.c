#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- fault points ---- */

#ifdef FLEET_FAULT_POINTS
static long fault_steps;

void file_fault_after(long steps) {
  fault_steps = steps;
}

void file_step(void) {
  if (fault_steps > 0 && --fault_steps == 0) raise(SIGKILL);
}
#else
void file_step(void) {}
#endif

/* ---- failures ---- */

/* Only the last component is named: directories may identify a person. */
static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

bool file_fail(struct err *e, const char *what, const char *path, int error) {
  char reason[128] = "";
  const char *text = error == ELOOP ? "it is a symbolic link" : strerror_r(error, reason, sizeof reason);
  return err_set(e, KIND_store, "cannot %s '%s': %s", what, last_component(path), text);
}

/* ---- reading ---- */

/* expected: the size that the file had when it was opened; what has grown since is read to its end. */
static bool take_in(struct buf *out, int fd, size_t limit, size_t expected) {
  for (size_t total = 0;;) {
    if (!buf_reserve(out, 4096)) return errno = ENOMEM, false;
    ssize_t n = pread(fd, out->data + out->size, out->capacity - out->size, (off_t)total);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    if ((total += (size_t)n) > limit) return errno = EFBIG, false;
    out->size += (size_t)n;
    out->data[out->size] = '\0';
    if (total == expected) return true;
  }
}

static struct file_facts facts_of(const struct stat *s) {
  return (struct file_facts){.mode = s->st_mode & 07777,
                             .owner = (uint64_t)s->st_uid,
                             .linked = s->st_nlink > 0,
                             .size = (uint64_t)s->st_size,
                             .device = (uint64_t)s->st_dev,
                             .inode = (uint64_t)s->st_ino};
}

static bool regular_facts(const struct stat *s, struct file_facts *facts) {
  if (S_ISDIR(s->st_mode)) return errno = EISDIR, false;
  if (!S_ISREG(s->st_mode)) return errno = EINVAL, false;
  *facts = facts_of(s);
  return true;
}

bool file_facts_of(int fd, struct file_facts *facts) {
  struct stat s;
  return fstat(fd, &s) == 0 && regular_facts(&s, facts);
}

bool file_facts_open(int fd, struct file_facts *facts) {
  if (!file_facts_of(fd, facts)) return false;
  facts->mine = facts->owner == (uint64_t)geteuid();
  return true;
}

bool file_facts_at(const char *path, struct file_facts *facts) {
  struct stat s;
  return lstat(path, &s) == 0 && regular_facts(&s, facts);
}

bool file_read_known(struct buf *out, int fd, size_t limit, const struct file_facts *facts) {
  return take_in(out, fd, limit, (size_t)facts->size);
}

bool file_read_open(struct buf *out, int fd, size_t limit, struct file_facts *facts) {
  struct file_facts own = {0}, *all = facts ? facts : &own;
  return file_facts_open(fd, all) && file_read_known(out, fd, limit, all);
}

/* O_NONBLOCK: a pipe in the file's place must not block the process. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags,
                           struct file_facts *facts, struct err *e) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (flags & FILE_FOLLOW ? 0 : O_NOFOLLOW));
  if (fd < 0) {
    int error = errno;
    file_fail(e, "open", path, error);
    return error == ENOENT || error == ENOTDIR ? FILE_ABSENT : FILE_FAILED;
  }
  bool done = file_read_open(out, fd, limit, facts);
  if (!done) file_fail(e, "read", path, errno);
  close(fd);
  return done ? FILE_OK : FILE_FAILED;
}

bool file_remove(const char *path, struct err *e) {
  file_step();
  return unlink(path) == 0 || errno == ENOENT || file_fail(e, "remove", path, errno);
}

bool file_real_path(struct buf *out, const char *path, struct err *e) {
  char *real = realpath(path, NULL);
  if (!real) return file_fail(e, "find", path, errno);
  buf_text_add(out, real);
  free(real);
  return buf_ok(out) || err_out_of_memory(e);
}

/* ---- directories ---- */

static bool make_one(const char *path, struct err *e) {
  return mkdir(path, 0700) == 0 || errno == EEXIST || file_fail(e, "make the directory", path, errno);
}

bool directory_make(const char *path, struct err *e) {
  struct stat s;
  if (stat(path, &s) == 0) return S_ISDIR(s.st_mode) || file_fail(e, "make the directory", path, ENOTDIR);
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
  if (stat(path, &s) != 0) return file_fail(e, "open", path, errno);
  if (!S_ISDIR(s.st_mode)) return file_fail(e, "open", path, ENOTDIR);
  *facts = facts_of(&s);
  facts->mine = s.st_uid == geteuid();
  return true;
}

bool directory_list(struct buf *names, const char *path, struct err *e) {
  DIR *directory = opendir(path);
  if (!directory) return file_fail(e, "read", path, errno);
  for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
    if (entry->d_name[0] != '.') buf_add(names, entry->d_name, strlen(entry->d_name) + 1);
  closedir(directory);
  return buf_ok(names) || err_out_of_memory(e);
}
