/* poll(2) for systems without epoll. The owner waits in poll(2) itself.
 *
 * A host waits for one descriptor, the read end of a pipe. A thread waits in poll(2) for all descriptors and
 * the timer, and writes one byte into the pipe. Then the thread pauses until the owner has waited, which
 * reads the byte. If the owner has already handled the event, its wait finds nothing. */
#include "base/poller.h"

#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 256, FIRST_ROOM = 16, DRAINED_AT_ONCE = 64 };
enum { READ_END, WRITE_END };

struct poller_parts {
  struct poller *owner;
  struct poller_parts *next_exported;
  pthread_t made_by;
  struct pollfd *watched; /* count of them, in no order */
  uint32_t *tags;         /* likewise */
  int count, room;
  int *places; /* by descriptor: its index in watched, plus one; 0: not watched */
  int place_room;
  int next;       /* where the next wait begins to look, so that all have their turn */
  int report_fd;  /* writes to the poller's descriptor */
  int control[2]; /* ends the thread's wait */
  /* The rest is of the owner and the thread, as are watched, count and the poller's time: under the lock. */
  bool has_thread, looks, in_poll, interrupted, ends;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed, left; /* for the thread: it has something to do; for the owner: it has left poll */
};

const char *const poller_name = "poll";

double poller_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Rounded up: waking a fraction of a millisecond early would spin. */
static int milliseconds(double seconds) {
  if (seconds < 0) return -1;
  double ms = ceil(seconds * 1000);
  return ms < INT_MAX ? (int)ms : INT_MAX;
}

static double time_left(const struct poller *p) {
  return p->armed > 0 ? fmax(p->armed - poller_now(), 0) : -1;
}

static bool has_fired(const struct poller *p) {
  return p->armed > 0 && p->armed <= poller_now();
}

/* ---- the thread ---- */

/* A forked child has no thread, and the lock may be held for ever. */
static bool is_shared(const struct poller *p) {
  return p->parts->has_thread && !poller_forked(p);
}

static void lock(const struct poller *p) {
  if (is_shared(p)) pthread_mutex_lock(&p->parts->lock);
}

static void unlock(const struct poller *p) {
  if (is_shared(p)) pthread_mutex_unlock(&p->parts->lock);
}

static void write_byte(int fd) {
  while (write(fd, "", 1) < 0 && errno == EINTR) continue;
}

static void drain(int fd) {
  char bytes[DRAINED_AT_ONCE];
  ssize_t got;
  do got = read(fd, bytes, sizeof bytes);
  while (got > 0 || (got < 0 && errno == EINTR));
}

static void report(struct poller_parts *s) {
  if (s->looks) write_byte(s->report_fd);
  s->looks = false;
}

/* What it waits for has changed: it takes all of it again. */
static void interrupt(struct poller_parts *s) {
  if (!s->has_thread) return;
  if (s->in_poll && !s->interrupted) write_byte(s->control[WRITE_END]);
  s->interrupted = s->in_poll;
  pthread_cond_signal(&s->changed);
}

static struct pollfd *grown(struct pollfd *list, int *room, int wanted) {
  if (wanted <= *room) return list;
  struct pollfd *larger = realloc(list, 2 * (size_t)wanted * sizeof *list);
  if (larger) *room = 2 * wanted;
  return larger;
}

static void *look(void *argument) {
  struct poller *p = argument;
  struct poller_parts *s = p->parts;
  struct pollfd *list = NULL;
  int room = 0;
  pthread_mutex_lock(&s->lock);
  while (!s->ends) {
    if (!s->looks) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    struct pollfd *larger = grown(list, &room, s->count + 1);
    if (!larger) { /* the owner looks for itself */
      report(s);
      continue;
    }
    list = larger;
    list[0] = (struct pollfd){.fd = s->control[READ_END], .events = POLLIN};
    if (s->count) memcpy(list + 1, s->watched, (size_t)s->count * sizeof *list);
    nfds_t count = (nfds_t)s->count + 1;
    int limit = milliseconds(time_left(p));
    s->in_poll = true;
    pthread_mutex_unlock(&s->lock);
    int found = poll(list, count, limit);
    pthread_mutex_lock(&s->lock);
    s->in_poll = false;
    if (s->interrupted)
      drain(s->control[READ_END]);
    else if (found > 0 || has_fired(p))
      report(s);
    s->interrupted = false;
    pthread_cond_signal(&s->left);
  }
  pthread_mutex_unlock(&s->lock);
  free(list);
  return NULL;
}

/* Signals are for the host's threads. */
static int start_thread(struct poller *p) {
  struct poller_parts *s = p->parts;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  s->looks = s->has_thread = true;
  int error = pthread_create(&s->thread, NULL, look, p);
  if (error) s->looks = s->has_thread = false;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

/* ---- pollers whose descriptor another poller of this thread may watch ----
 *
 * Their thread needs a moment to write its byte. A wait that does not block would find nothing meanwhile, so
 * each wait looks for itself first. */

static pthread_mutex_t exported_lock = PTHREAD_MUTEX_INITIALIZER;
static struct poller_parts *exported;
static unsigned exported_by; /* the generation of the process */

static void lock_exported(void) {
  if (exported_by != fork_generation()) { /* a forked child: the lock may be held for ever */
    exported_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    exported = NULL;
    exported_by = fork_generation();
  }
  pthread_mutex_lock(&exported_lock);
}

static void add_exported(struct poller_parts *s) {
  lock_exported();
  s->next_exported = exported;
  exported = s;
  pthread_mutex_unlock(&exported_lock);
}

static void remove_exported(const struct poller_parts *s) {
  lock_exported();
  struct poller_parts **at = &exported;
  while (*at && *at != s) at = &(*at)->next_exported;
  if (*at) *at = s->next_exported;
  pthread_mutex_unlock(&exported_lock);
}

static void report_others(const struct poller *p) {
  lock_exported();
  for (struct poller_parts *s = exported; s; s = s->next_exported) {
    if (s->owner == p || !pthread_equal(s->made_by, pthread_self())) continue;
    pthread_mutex_lock(&s->lock);
    if (s->looks && (has_fired(s->owner) || poll(s->watched, (nfds_t)s->count, 0) > 0)) report(s);
    pthread_mutex_unlock(&s->lock);
  }
  pthread_mutex_unlock(&exported_lock);
}

bool poller_export(struct poller *p, struct err *e) {
  if (p->parts->has_thread) return true;
  if (start_thread(p)) return err_set(e, KIND_service, "the event loop cannot start its thread");
  add_exported(p->parts);
  lock(p);
  if (has_fired(p)) report(p->parts);
  unlock(p);
  return true;
}

/* ---- opening and closing ---- */

static bool open_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  for (int i = 0; i < 2; i++)
    if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[i], F_SETFL, O_NONBLOCK) < 0) return false;
  return true;
}

bool poller_open(struct poller *p, struct err *e) {
  int ends[2] = {-1, -1};
  *p = (struct poller){.fd = -1, .generation = fork_generation(), .parts = calloc(1, sizeof *p->parts)};
  if (!p->parts) return err_out_of_memory(e);
  struct poller_parts *s = p->parts;
  s->owner = p;
  s->made_by = pthread_self();
  s->report_fd = s->control[READ_END] = s->control[WRITE_END] = -1;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  pthread_cond_init(&s->left, NULL);
  bool opened = open_pipe(ends);
  p->fd = ends[READ_END];
  s->report_fd = ends[WRITE_END];
  if (opened && open_pipe(s->control)) return true;
  int code = errno;
  poller_close(p);
  return err_set(e, KIND_service, "the event loop could not be opened: %s",
                 code == EMFILE || code == ENFILE ? "too many open files" : "the system refused it");
}

bool poller_forked(const struct poller *p) {
  return p->generation != fork_generation();
}

bool poller_take_fd(struct poller *p, struct poller *from) {
  int number = from->fd;
  if (number < 0 || !poller_export(p, NULL) || dup2(p->fd, number) != number) return false;
  fcntl(number, F_SETFD, FD_CLOEXEC);
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
  struct poller_parts *s = p->parts;
  if (s && is_shared(p)) {
    remove_exported(s);
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    interrupt(s);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
  }
  if (s) {
    close_one(&s->report_fd);
    close_one(&s->control[READ_END]);
    close_one(&s->control[WRITE_END]);
    free(s->watched);
    free(s->tags);
    free(s->places);
    free(s);
  }
  p->parts = NULL;
  close_one(&p->fd);
}

/* ---- watched descriptors: the lock is held ---- */

static int place_of(const struct poller_parts *s, int fd) {
  return fd >= 0 && fd < s->place_room ? s->places[fd] - 1 : -1;
}

static bool reserve(struct poller_parts *s, int fd) {
  if (fd >= s->place_room) {
    int room = 2 * (fd + 1);
    int *places = realloc(s->places, (size_t)room * sizeof *places);
    if (!places) return false;
    memset(places + s->place_room, 0, (size_t)(room - s->place_room) * sizeof *places);
    s->places = places;
    s->place_room = room;
  }
  if (s->count < s->room) return true;
  int room = s->room ? 2 * s->room : FIRST_ROOM;
  struct pollfd *watched = realloc(s->watched, (size_t)room * sizeof *watched);
  if (watched) s->watched = watched;
  uint32_t *tags = watched ? realloc(s->tags, (size_t)room * sizeof *tags) : NULL;
  if (!tags) return false;
  s->tags = tags;
  s->room = room;
  return true;
}

static void put(struct poller_parts *s, int fd, short events, uint32_t tag) {
  int place = place_of(s, fd);
  if (place < 0) place = s->count++;
  s->watched[place] = (struct pollfd){.fd = fd, .events = events};
  s->tags[place] = tag;
  s->places[fd] = place + 1;
}

static void take_off(struct poller_parts *s, int fd) {
  int place = place_of(s, fd), last = s->count - 1;
  if (place < 0) return;
  s->watched[place] = s->watched[last];
  s->tags[place] = s->tags[last];
  s->places[s->watched[place].fd] = place + 1;
  s->places[fd] = 0;
  s->count = last;
}

bool poller_watch(struct poller *p, int fd, unsigned events, uint32_t tag, struct err *e) {
  struct poller_parts *s = p->parts;
  struct stat st;
  short wanted = (short)((events & POLLER_READ ? POLLIN : 0) | (events & POLLER_WRITE ? POLLOUT : 0));
  if (events && fstat(fd, &st) != 0) return err_set(e, KIND_invalid, "descriptor %d is not open", fd);
  if (events && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
    return err_set(e, KIND_invalid, "descriptor %d cannot be waited for (an ordinary file?)", fd);
  if (!events && place_of(s, fd) < 0) return true;
  lock(p);
  bool done = !events || reserve(s, fd);
  if (done && events) put(s, fd, wanted, tag);
  if (!events) take_off(s, fd);
  interrupt(s);
  while (!events && s->interrupted) /* while it is, closing the descriptor does not end it */
    pthread_cond_wait(&s->left, &s->lock);
  unlock(p);
  return done || err_out_of_memory(e);
}

void poller_arm(struct poller *p, double seconds) {
  if (!(seconds >= 0)) return;
  double at = poller_now() + seconds;
  if (p->armed > 0 && p->armed <= at) return;
  lock(p);
  p->armed = at;
  if (seconds == 0) report(p->parts);
  interrupt(p->parts);
  unlock(p);
}

void poller_disarm(struct poller *p) {
  lock(p);
  p->armed = 0;
  drain(p->fd);
  p->parts->looks = p->parts->has_thread;
  interrupt(p->parts);
  unlock(p);
}

/* ---- waiting ---- */

static unsigned meaning(short events) {
  return (events & POLLIN ? (unsigned)POLLER_READ : 0) | (events & POLLOUT ? (unsigned)POLLER_WRITE : 0) |
         (events & (POLLERR | POLLHUP) ? (unsigned)POLLER_ERROR : 0);
}

/* A descriptor that its owner has closed is watched no more. */
static int collect(struct poller_parts *s, struct poller_event *events, int limit) {
  int count = 0, closed[EVENTS_PER_WAIT], closed_count = 0, from = s->next;
  for (int i = 0; i < s->count && count < limit; i++) {
    int place = (from + i) % s->count;
    const struct pollfd *w = &s->watched[place];
    if (w->revents & POLLNVAL && closed_count < EVENTS_PER_WAIT) closed[closed_count++] = w->fd;
    unsigned found = w->revents & POLLNVAL ? 0 : meaning(w->revents);
    if (!found) continue;
    events[count++] = (struct poller_event){w->fd, s->tags[place], found};
    s->next = place + 1;
  }
  while (closed_count > 0) take_off(s, closed[--closed_count]);
  return count;
}

int poller_wait(struct poller *p, struct poller_event *events, int capacity, double seconds) {
  struct poller_parts *s = p->parts;
  int limit = capacity < EVENTS_PER_WAIT ? capacity : EVENTS_PER_WAIT, count = 0;
  double left = time_left(p);
  if (seconds < 0 || (left >= 0 && left < seconds)) seconds = left;
  report_others(p);
  int found = poll(s->watched, (nfds_t)s->count, milliseconds(seconds));
  lock(p);
  if (found > 0) count = collect(s, events, limit);
  if (has_fired(p)) p->armed = 0;
  drain(p->fd);
  s->looks = s->has_thread;
  interrupt(s);
  unlock(p);
  return count;
}
