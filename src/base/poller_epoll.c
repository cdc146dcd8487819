#include "base/poller.h"

#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 256 };

struct poller_parts {
  int timer_fd;
};

const char *const poller_name = "epoll";

double poller_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool add(int epoll_fd, int operation, int fd, uint32_t events, uint32_t tag) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)tag << 32 | (uint32_t)fd};
  return epoll_ctl(epoll_fd, operation, fd, &event) == 0;
}

static bool open_failed(struct poller *p, struct err *e) {
  int code = errno;
  poller_close(p);
  return err_set(e, KIND_service, "the event loop could not be opened: %s",
                 code == EMFILE || code == ENFILE ? "too many open files" : "the system refused it");
}

bool poller_open(struct poller *p, struct err *e) {
  *p = (struct poller){.fd = -1, .generation = fork_generation(), .parts = malloc(sizeof *p->parts)};
  if (!p->parts) return err_out_of_memory(e);
  p->parts->timer_fd = -1;
  p->fd = epoll_create1(EPOLL_CLOEXEC);
  if (p->fd < 0) return open_failed(p, e);
  p->parts->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (p->parts->timer_fd < 0 || !add(p->fd, EPOLL_CTL_ADD, p->parts->timer_fd, EPOLLIN, 0))
    return open_failed(p, e);
  return true;
}

bool poller_watch(struct poller *p, int fd, unsigned events, uint32_t tag, struct err *e) {
  if (events == 0) {
    epoll_ctl(p->fd, EPOLL_CTL_DEL, fd, NULL);
    return true;
  }
  uint32_t wanted =
      (events & POLLER_READ ? (uint32_t)EPOLLIN : 0) | (events & POLLER_WRITE ? (uint32_t)EPOLLOUT : 0);
  if (add(p->fd, EPOLL_CTL_ADD, fd, wanted, tag)) return true;
  if (errno == EEXIST && add(p->fd, EPOLL_CTL_MOD, fd, wanted, tag)) return true;
  if (errno == EPERM)
    return err_set(e, KIND_invalid, "descriptor %d cannot be waited for (an ordinary file?)", fd);
  if (errno == EBADF) return err_set(e, KIND_invalid, "descriptor %d is not open", fd);
  return err_set(e, KIND_service, "descriptor %d could not be added to the event loop", fd);
}

void poller_arm(struct poller *p, double seconds) {
  if (!(seconds >= 0)) return;
  double at = poller_now() + seconds;
  if (p->armed > 0 && p->armed <= at) return;
  struct itimerspec spec = {.it_value = {.tv_sec = (time_t)fmin(seconds, 1e9)}};
  spec.it_value.tv_nsec = (long)((fmin(seconds, 1e9) - (double)spec.it_value.tv_sec) * 1e9);
  if (spec.it_value.tv_sec == 0 && spec.it_value.tv_nsec == 0)
    spec.it_value.tv_nsec = 1; /* zero would disarm */
  if (timerfd_settime(p->parts->timer_fd, 0, &spec, NULL) == 0) p->armed = at;
}

void poller_disarm(struct poller *p) {
  const struct itimerspec never = {{0, 0}, {0, 0}};
  if (timerfd_settime(p->parts->timer_fd, 0, &never, NULL) == 0) p->armed = 0;
}

static void timer_fired(struct poller *p) {
  uint64_t count;
  while (read(p->parts->timer_fd, &count, sizeof count) < 0 && errno == EINTR) continue;
  p->armed = 0;
}

/* Rounded up: waking a fraction of a millisecond early would spin. */
static int milliseconds(double seconds) {
  if (seconds < 0) return -1;
  double ms = ceil(seconds * 1000);
  return ms < INT_MAX ? (int)ms : INT_MAX;
}

static unsigned meaning(uint32_t events) {
  return (events & (EPOLLIN | EPOLLRDHUP) ? (unsigned)POLLER_READ : 0) |
         (events & EPOLLOUT ? (unsigned)POLLER_WRITE : 0) |
         (events & (EPOLLERR | EPOLLHUP) ? (unsigned)POLLER_ERROR : 0);
}

int poller_wait(struct poller *p, struct poller_event *events, int capacity, double seconds) {
  struct epoll_event ready[EVENTS_PER_WAIT];
  int limit = capacity < EVENTS_PER_WAIT ? capacity : EVENTS_PER_WAIT, count = 0;
  int found = epoll_wait(p->fd, ready, limit, milliseconds(seconds));
  for (int i = 0; i < found; i++) {
    int fd = (int)(uint32_t)ready[i].data.u64;
    if (fd == p->parts->timer_fd)
      timer_fired(p);
    else
      events[count++] =
          (struct poller_event){fd, (uint32_t)(ready[i].data.u64 >> 32), meaning(ready[i].events)};
  }
  return count;
}

bool poller_export(struct poller *p, struct err *e) {
  (void)p, (void)e;
  return true;
}

bool poller_forked(const struct poller *p) {
  return p->generation != fork_generation();
}

bool poller_take_fd(struct poller *p, struct poller *from) {
  int number = from->fd;
  if (number < 0 || dup3(p->fd, number, O_CLOEXEC) != number) return false;
  close(p->fd);
  p->fd = number;
  from->fd = -1;
  return true;
}

static void close_one(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void poller_close(struct poller *p) {
  if (p->parts) close_one(&p->parts->timer_fd);
  free(p->parts);
  p->parts = NULL;
  close_one(&p->fd);
}
