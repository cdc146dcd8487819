#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only the last component is named: directories may tell more about a person than an error has to. */
static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

static bool fail(struct err *e, const char *what, const char *path, int error) {
  char reason[128] = "";
  return err_set(e, KIND_store, "cannot %s '%s': %s", what, last_component(path),
                 strerror_r(error, reason, sizeof reason));
}

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

static bool read_open(struct buf *out, int fd, size_t limit, struct file_facts *facts) {
  struct stat s;
  if (fstat(fd, &s) != 0) return false;
  if (S_ISDIR(s.st_mode)) return errno = EISDIR, false;
  if (!S_ISREG(s.st_mode)) return errno = EINVAL, false;
  if (facts) *facts = (struct file_facts){s.st_mode & 07777, s.st_uid};
  return take_in(out, fd, limit);
}

/* O_NONBLOCK: a pipe that somebody put in the file's place must not stop the process. */
enum file_result file_read(struct buf *out, const char *path, size_t limit, unsigned flags, struct file_facts *facts,
                           struct err *e) {
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
