#include "base/file.h"
#include "store/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

/* Beyond every generation that was drawn for a record which has been deleted since. */
enum { LEAP = 1 << 20, LONGEST_ENDING = 16 };

/* ---- all records of the directory ---- */

bool store_is_record(const char *name) {
  size_t digits = 0;
  while (isxdigit((unsigned char)name[digits])) digits++;
  return digits == STORE_NAME_SIZE && name[digits] == '\0';
}

/* As version 1 named them: a dot and six letters or digits. */
static bool is_old_draft(const char *name) {
  size_t size = strlen(name);
  if (size != STORE_NAME_SIZE + 7 || name[STORE_NAME_SIZE] != '.') return false;
  for (size_t i = 0; i < size; i++)
    if (i != STORE_NAME_SIZE && !isalnum((unsigned char)name[i])) return false;
  return strcmp(name + STORE_NAME_SIZE, ENDING_DRAFT) != 0;
}

static void remove_old_draft(const char *path) {
  enum { YOUNG = 60 };
  struct stat s;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (lstat(path, &s) == 0 && S_ISREG(s.st_mode) && now.tv_sec - s.st_mtime > YOUNG)
    file_draft_remove_left(path);
}

static uint64_t generation_in(struct store *s, const char *path) {
  struct record r;
  struct file_facts facts;
  buf_clear(&s->text);
  if (file_read(&s->text, path, RECORD_VALUE_LIMIT + RECORD_OVERHEAD, 0, &facts, NULL) != FILE_OK) return 0;
  return facts.mine && record_decode(&r, s->crypto, buf_bytes(&s->text)) == RECORD_OK ? r.generation : 0;
}

static void survey_one(struct store *s, const char *name, uint64_t *highest) {
  char path[s->stem + LONGEST_ENDING];
  if (!store_is_record(name) && !is_old_draft(name)) return;
  snprintf(path, sizeof path, "%s/%s", s->directory, name);
  if (is_old_draft(name)) return remove_old_draft(path);
  uint64_t generation = generation_in(s, path);
  if (generation > *highest) *highest = generation;
}

/* The highest generation of all records; drafts of version 1 that no process has open are removed. */
static bool survey(struct store *s, uint64_t *highest, struct err *e) {
  struct buf names = BUF_INIT;
  bool done = directory_list(&names, s->directory, e);
  for (size_t at = 0; done && at < names.size; at += strlen((char *)names.data + at) + 1)
    survey_one(s, (char *)names.data + at, highest);
  buf_free(&names);
  return done;
}

/* ---- drawing ---- */

static bool heal(struct store *s, enum number_state state, uint64_t *number, struct err *e) {
  uint64_t highest = 0;
  if (!survey(s, &highest, e) || (state == NUMBER_DAMAGED && !lock_clear(&s->lock, e))) return false;
  if (state == NUMBER_OLD) {
    if (highest > *number) *number = highest;
    return true;
  }
  if (state == NUMBER_DAMAGED) store_notice(s, "the store's count of changes was damaged and was set anew");
  *number = highest ? highest + LEAP : 0;
  return true;
}

static bool too_far(struct err *e) {
  return err_set(e, KIND_store,
                 "a record of the store counts no further: move the store away and sign in again");
}

/* The numbers in between belong to deferred records, which are older than any immediate write. */
static uint64_t round_after(uint64_t generation) {
  return (generation / GENERATION_STEP + 1) * GENERATION_STEP;
}

static bool known_number(struct store *s, uint64_t *number, enum number_state *state, struct err *e) {
  *state = lock_read(&s->lock, number, e);
  return *state == NUMBER_GOOD || (*state != NUMBER_UNREAD && heal(s, *state, number, e));
}

/* The generation of a damaged file is unknown. */
bool store_next_locked(struct store *s, const struct found *before, uint64_t *generation, struct err *e) {
  uint64_t number;
  enum number_state state;
  if (before->exists) {
    *generation = round_after(before->record.generation);
    return *generation <= NUMBER_LIMIT || too_far(e);
  }
  if (!known_number(s, &number, &state, e)) return false;
  *generation = round_after(before->damaged ? number + LEAP : number);
  return lock_write(&s->lock, *generation, e);
}

bool store_passed_locked(struct store *s, uint64_t generation, struct err *e) {
  uint64_t number;
  enum number_state state;
  if (!known_number(s, &number, &state, e)) return false;
  if (state == NUMBER_GOOD && number >= generation) return true;
  return lock_write(&s->lock, number > generation ? number : generation, e);
}

bool store_number_locked(struct store *s, uint64_t *number, struct err *e) {
  enum number_state state;
  return known_number(s, number, &state, e);
}

static enum store_result next_of(struct store *s, struct bytes key, uint64_t *generation, struct err *e) {
  struct found f;
  enum number_state state;
  if (!store_look(s, key, &f, false, e)) return STORE_FAILED;
  if (f.exists)
    *generation = f.record.generation;
  else if (!known_number(s, generation, &state, e))
    return STORE_FAILED;
  *generation += f.damaged ? LEAP : 1;
  return STORE_DONE;
}

enum store_result store_next(struct store *s, struct bytes key, uint64_t *generation, struct err *e) {
  if (!store_choose(s, key, e)) return STORE_FAILED;
  enum store_result result = store_enter(s, e);
  return result == STORE_DONE ? store_leave(s, next_of(s, key, generation, e)) : result;
}
