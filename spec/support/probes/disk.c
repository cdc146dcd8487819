/* What a process asks of the disk, in order: loaded before everything else (LD_PRELOAD), it writes a line for
 * each call to the file that DISK_LOG names. The name is the last component of the file's. DISK_AT_FSYNC is a
 * command that is run before the first fsync: what another process does while this one waits for the disk.
 * DISK_FORK is the end of the names behind whose opening a child is made that ends at once: what another
 * thread does. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NEXT(name) dlsym(RTLD_NEXT, name)

static void note(const char *what, const char *path) {
  const char *log = getenv("DISK_LOG"), *slash = strrchr(path, '/');
  char line[512];
  if (!log) return;
  int size = snprintf(line, sizeof line, "%s %s\n", what, slash ? slash + 1 : path);
  long fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0) return;
  if (syscall(SYS_write, fd, line, (size_t)size) < 0) abort();
  syscall(SYS_close, fd);
}

static void note_fd(const char *what, int fd) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) > 0) note(what, path);
}

/* This probe stands last in LD_PRELOAD; the command is not watched. */
static void leave_preload(void) {
  char *preload = getenv("LD_PRELOAD"), *last = preload ? strrchr(preload, ':') : NULL;
  if (last)
    *last = '\0';
  else
    unsetenv("LD_PRELOAD");
}

static void meanwhile(void) {
  char *command = getenv("DISK_AT_FSYNC");
  if (!command || !(command = strdup(command))) return;
  unsetenv("DISK_AT_FSYNC");
  leave_preload();
  if (system(command) != 0) abort();
  free(command);
}

EXPORT int fsync(int fd) {
  int (*next)(int);
  *(void **)&next = NEXT("fsync");
  note_fd("fsync", fd);
  meanwhile();
  return next(fd);
}

static void fork_behind(const char *path) {
  const char *ending = getenv("DISK_FORK");
  size_t size = strlen(path), end = ending ? strlen(ending) : size + 1;
  if (size < end || strcmp(path + size - end, ending) != 0) return;
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

/* Its name in the objects, with offsets of 64 bits, is open64. */
EXPORT int open(const char *path, int flags, ...) {
  int (*next)(const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  *(void **)&next = NEXT("open64");
  note("open", path);
  int fd = next(path, flags, mode);
  fork_behind(path);
  return fd;
}

EXPORT int rename(const char *from, const char *to) {
  int (*next)(const char *, const char *);
  *(void **)&next = NEXT("rename");
  note("rename", from);
  return next(from, to);
}

EXPORT int flock(int fd, int how) {
  int (*next)(int, int);
  *(void **)&next = NEXT("flock");
  note_fd(how & LOCK_UN ? "unlock" : "lock", fd);
  return next(fd, how);
}

EXPORT DIR *opendir(const char *path) {
  DIR *(*next)(const char *);
  *(void **)&next = NEXT("opendir");
  note("list", path);
  return next(path);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  ssize_t (*next)(int, const void *, size_t, off_t);
  *(void **)&next = NEXT("pwrite");
  note_fd("write", fd);
  return next(fd, data, size, at);
}
