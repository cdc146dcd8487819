#include "base/signal_fd.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signal_fd_open(const int *numbers, int count) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < count; i++) sigaddset(&set, numbers[i]);
  int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd >= 0) pthread_sigmask(SIG_BLOCK, &set, NULL);
  return fd;
}

int signal_fd_take(int fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

void signal_fd_close(int fd) {
  close(fd);
}
