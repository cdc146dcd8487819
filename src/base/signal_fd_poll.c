#include "base/signal_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t ends[2] = {-1, -1}; /* of the pipe */

static void handle(int number) {
  int code = errno;
  unsigned char byte = (unsigned char)number;
  if (ends[1] >= 0 && write(ends[1], &byte, 1) < 0) errno = code; /* full: many are waiting already */
  errno = code;
}

int signal_fd_open(const int *numbers, int count) {
  int fds[2];
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  if (pipe(fds) != 0) return -1;
  for (int i = 0; i < 2; i++) {
    fcntl(fds[i], F_SETFD, FD_CLOEXEC);
    fcntl(fds[i], F_SETFL, O_NONBLOCK);
  }
  signal_fd_close(ends[0]);
  ends[0] = fds[0];
  ends[1] = fds[1];
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < count; i++) sigaction(numbers[i], &action, NULL);
  return fds[0];
}

int signal_fd_take(int fd) {
  unsigned char byte;
  return read(fd, &byte, 1) == 1 ? byte : 0;
}

/* The handler stays: a signal between here and the program's end does not end it in the middle. */
void signal_fd_close(int fd) {
  int writes = ends[1];
  if (fd < 0 || fd != ends[0]) return;
  ends[0] = ends[1] = -1;
  close(writes);
  close(fd);
}
