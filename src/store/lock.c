#include "store/lock.h"

#include "base/draft.h"
#include "base/file.h"
#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- the lock ---- */

static bool open_lock(struct lock *l, const char *path, struct err *e) {
  struct file_facts facts;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return file_fail(e, "open", path, errno);
  bool good = file_facts_open(fd, &facts) && facts.mine;
  if (good) {
    *l = (struct lock){fd, fork_generation()};
    return true;
  }
  close(fd);
  return err_set(e, KIND_store, "the stored file '%s' belongs to another user, or is no file",
                 strrchr(path, '/') + 1);
}

/* The file was removed: other processes would lock a new one. */
static bool is_removed(const struct lock *l) {
  struct file_facts facts;
  return !file_facts_of(l->fd, &facts) || !facts.linked;
}

bool lock_is_childs(const struct lock *l) {
  return l->generation != fork_generation();
}

bool lock_is_ours(const struct lock *l) {
  return l->fd >= 0 && !lock_is_childs(l) && !is_removed(l);
}

static enum lock_result lock_now(struct lock *l, const char *path, struct err *e) {
  if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) return LOCK_TAKEN;
  if (errno != EWOULDBLOCK) return file_fail(e, "lock", path, errno), LOCK_FAILED;
  err_set(e, KIND_busy, "'%s' is locked by another process", strrchr(path, '/') + 1);
  return LOCK_HELD;
}

enum lock_result lock_take(struct lock *l, const char *path, struct err *e) {
  for (int tries = 0; tries < 3; tries++) {
    if (!open_lock(l, path, e)) return LOCK_FAILED;
    enum lock_result result = lock_now(l, path, e);
    if (result == LOCK_TAKEN && !is_removed(l)) return LOCK_TAKEN;
    lock_close(l);
    if (result != LOCK_TAKEN) return result;
  }
  err_set(e, KIND_store, "the stored file '%s' is removed again and again", strrchr(path, '/') + 1);
  return LOCK_FAILED;
}

/* Unlocked, not only closed: a forked child may hold a copy of the descriptor. */
void lock_close(struct lock *l) {
  if (l->fd < 0) return;
  file_step();
  if (!lock_is_childs(l)) flock(l->fd, LOCK_UN);
  close(l->fd);
  l->fd = -1;
}

/* ---- the number ---- */

/* FNV-1a: any change of one byte changes it. */
static uint32_t check_of(const unsigned char *data, size_t size) {
  uint32_t check = 2166136261u;
  for (size_t i = 0; i < size; i++) check = (check ^ data[i]) * 16777619u;
  return check;
}

enum { DIGITS = 16, CHECK_DIGITS = 8 };

static void write_digits(char *text, size_t count, uint64_t number, unsigned base) {
  while (count--) text[count] = "0123456789abcdef"[number % base], number /= base;
}

void number_format(char text[NUMBER_SIZE + 1], uint64_t number) {
  write_digits(text, DIGITS, number, 10);
  text[DIGITS] = ' ';
  write_digits(text + DIGITS + 1, CHECK_DIGITS, check_of((const unsigned char *)text, DIGITS), 16);
  strcpy(text + NUMBER_SIZE - 1, "\n");
}

static bool is_old(struct bytes text, uint64_t *number) {
  return text.size == NUMBER_OLD_SIZE && number_take(&text, number) && text.size == 1 && text.data[0] == '\n';
}

static bool is_whole(struct bytes text, uint64_t *number) {
  char again[NUMBER_SIZE + 1];
  struct bytes digits = text;
  if (text.size != NUMBER_SIZE || !number_take(&digits, number) || digits.size != NUMBER_SIZE - DIGITS)
    return false;
  number_format(again, *number);
  return memcmp(again, text.data, NUMBER_SIZE) == 0;
}

enum number_state number_parse(struct bytes text, uint64_t *number) {
  if (is_whole(text, number)) return NUMBER_GOOD;
  if (is_old(text, number)) return NUMBER_OLD;
  *number = 0;
  return text.size ? NUMBER_DAMAGED : NUMBER_NONE;
}

enum number_state lock_read(const struct lock *l, uint64_t *number, struct err *e) {
  unsigned char text[NUMBER_SIZE + 1];
  ssize_t n = pread(l->fd, text, sizeof text, 0);
  if (n < 0) return file_fail(e, "read", "/lock", errno), NUMBER_UNREAD;
  return number_parse((struct bytes){text, (size_t)n}, number);
}

bool lock_write(const struct lock *l, uint64_t number, struct err *e) {
  char text[NUMBER_SIZE + 1];
  if (number > NUMBER_LIMIT)
    return err_set(e, KIND_store, "the store counts no further: move its directory away and sign in again");
  number_format(text, number);
  return file_overwrite(l->fd, bytes_of(text)) || file_fail(e, "write", "/lock", errno);
}

bool lock_clear(const struct lock *l, struct err *e) {
  return ftruncate(l->fd, 0) == 0 || file_fail(e, "write", "/lock", errno);
}
