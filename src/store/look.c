#include "base/file.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool is_foreign(struct store *s, const struct file_facts *facts, struct err *e) {
  if (!facts->mine)
    return !err_set(e, KIND_store, "the stored file %s belongs to another user", store_name(s));
  if (facts->mode & 077) store_notice(s, "the stored file %s is open to others: chmod 600 it", store_name(s));
  return false;
}

static bool parse(struct store *s, struct bytes key, struct found *f, struct err *e) {
  enum record_result result = record_decode(&f->record, s->crypto, buf_bytes(&s->text));
  f->size = s->text.size;
  f->exists = result == RECORD_OK && bytes_equal(f->record.key, key);
  f->damaged = !f->exists;
  return result != RECORD_NEWER ||
         err_set(e, KIND_store, "the stored file %s was written by a newer version of fleet", store_name(s));
}

/* O_NONBLOCK: a pipe in the file's place must not block the process. */
static int open_record(struct store *s, bool *writing) {
  const int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  const char *path = store_path(s, "");
  int fd = *writing ? open(path, O_RDWR | flags) : -1;
  if (fd >= 0 || (*writing && errno != EACCES && errno != EPERM && errno != EROFS)) return fd;
  *writing = false;
  return open(path, O_RDONLY | flags);
}

static bool read_record(struct store *s, struct bytes key, int fd, const struct file_facts *facts,
                        struct found *f, struct err *e) {
  buf_clear(&s->text);
  if (!file_read_known(&s->text, fd, RECORD_VALUE_LIMIT + RECORD_OVERHEAD, facts))
    return file_fail(e, "read", store_path(s, ""), errno);
  return !is_foreign(s, facts, e) && parse(s, key, f, e);
}

void found_close(struct found *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

static bool look(struct store *s, struct bytes key, struct found *f, bool writing, struct err *e) {
  struct file_facts facts;
  *f = (struct found)FOUND_INIT;
  int fd = open_record(s, &writing);
  if (fd < 0) return errno == ENOENT || file_fail(e, "open", store_path(s, ""), errno);
  bool done = file_facts_open(fd, &facts) || file_fail(e, "open", store_path(s, ""), errno);
  if (done) done = read_record(s, key, fd, &facts, f, e);
  if (done && f->exists && writing)
    f->fd = fd;
  else
    close(fd);
  return done;
}

/* The first word of the key says which kind of record was lost. */
static void say_damaged(struct store *s, struct bytes key) {
  size_t size = 0;
  while (size < key.size && size < 40 && key.data[size] != '/') size++;
  store_notice(s, "the stored file %s is damaged and is ignored (%.*s)", store_name(s), (int)size,
               (const char *)key.data);
}

bool store_look(struct store *s, struct bytes key, struct found *f, bool writing, struct err *e) {
  bool done = look(s, key, f, writing, e);
  if (done && f->damaged) say_damaged(s, key);
  return done;
}

/* A read without the lock may meet a record that is being overwritten. A read-only disk has no writer. */
static enum store_result look_again(struct store *s, struct bytes key, struct found *f, struct err *e) {
  struct err unlocked;
  err_clear(&unlocked);
  enum store_result entered = store_enter(s, &unlocked);
  if (entered == STORE_AGAIN) return STORE_AGAIN;
  enum store_result result = store_look(s, key, f, false, e) ? STORE_DONE : STORE_FAILED;
  return entered == STORE_DONE ? store_leave(s, result) : result;
}

bool record_alive(const struct record *r, uint64_t wall) {
  return r->ends == 0 || wall < r->ends;
}

enum store_result store_get(struct store *s, struct bytes key, uint64_t wall, struct record *r,
                            struct err *e) {
  struct found f;
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = look(s, key, &f, false, e) ? STORE_DONE : STORE_FAILED;
  if (result == STORE_DONE && f.damaged) result = look_again(s, key, &f, e);
  if (result != STORE_DONE) return result;
  *r = f.record;
  return f.exists && record_alive(r, wall) ? STORE_DONE : STORE_ABSENT;
}
