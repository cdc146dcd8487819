/* Signals as a descriptor that a loop can watch: signalfd in signal_fd_epoll.c, a handler and a pipe in
 * signal_fd_poll.c. */
#ifndef FLEET_BASE_SIGNAL_FD_H
#define FLEET_BASE_SIGNAL_FD_H

#include <signal.h>

/* From now on these signals arrive through the descriptor only; -1: errno says why. Where it is a pipe, the
 * latest one that was opened gets them. */
int signal_fd_open(const int *numbers, int count);
int signal_fd_take(int fd); /* 0: none has arrived */
void signal_fd_close(int fd);

#endif
