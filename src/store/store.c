#include "store/store.h"

#include "base/file.h"
#include "crypto/digest.h"
#include "store/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the directory ---- */

static bool check_directory(struct store *s, const char *path, struct err *e) {
  struct file_facts facts;
  if (!directory_facts(path, &facts, e)) return false;
  if (!facts.mine)
    return err_set(e, KIND_store, "the store directory belongs to another user: choose one of your own");
  if (facts.mode & 02)
    return err_set(e, KIND_store,
                   "every user of this machine can write to the store directory %.100s: chmod 700 it", path);
  if (facts.mode & 077)
    store_notice(s, "the store directory %.150s is open to others (mode %o): chmod 700 it", path, facts.mode);
  return true;
}

static bool find_directory(struct store *s, const char *directory, struct err *e) {
  struct buf real = BUF_INIT;
  bool done = directory_make(directory, e) && file_real_path(&real, directory, e) &&
              check_directory(s, buf_text(&real), e);
  if (done) {
    s->directory = strdup(buf_text(&real));
    s->stem = real.size + 1 + STORE_NAME_SIZE;
    s->path = malloc(s->stem + sizeof ENDING_RESERVED);
    s->lock_path = malloc(s->stem);
    done = (s->directory && s->path && s->lock_path) || err_out_of_memory(e);
    if (done) snprintf(s->path, s->stem, "%s/", s->directory);
    if (done) snprintf(s->lock_path, s->stem, "%s/lock", s->directory);
  }
  buf_free(&real);
  return done;
}

bool store_open(struct store *s, const char *directory, struct crypto *c, struct err *e) {
  *s = (struct store)STORE_INIT;
  s->crypto = crypto_ref(c);
  if (find_directory(s, directory, e)) return true;
  store_close(s);
  return false;
}

void store_close(struct store *s) {
  if (s->sweep) closedir(s->sweep);
  buf_free(&s->key);
  buf_free(&s->text);
  free(s->directory);
  free(s->path);
  free(s->lock_path);
  crypto_unref(s->crypto);
  *s = (struct store)STORE_INIT;
}

void store_notice(struct store *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(s->notice, sizeof s->notice, format, arguments);
  va_end(arguments);
}

/* ---- names ---- */

static bool name_file(struct store *s, struct bytes key) {
  unsigned char digest[HASH_SIZE];
  struct buf name = BUF_INIT;
  bool done = crypto_sha256(s->crypto, key, digest);
  buf_hex(&name, (struct bytes){digest, sizeof digest});
  done = done && buf_ok(&name);
  if (done) memcpy(s->path + s->stem - STORE_NAME_SIZE, name.data, STORE_NAME_SIZE);
  buf_free(&name);
  return done;
}

/* A lease, a look and a put of one key follow each other. */
bool store_choose(struct store *s, struct bytes key, struct err *e) {
  if (s->key.size && bytes_equal(buf_bytes(&s->key), key)) return true;
  buf_clear(&s->key);
  if (!name_file(s, key)) return err_out_of_memory(e);
  buf_add(&s->key, key.data, key.size);
  if (!buf_ok(&s->key)) buf_free(&s->key); /* it is only slower */
  return true;
}

const char *store_path(struct store *s, const char *ending) {
  strcpy(s->path + s->stem, ending);
  return s->path;
}

const char *store_name(struct store *s) {
  store_path(s, "");
  return s->path + s->stem - STORE_NAME_SIZE;
}

/* ---- the lock ---- */

enum store_result store_enter(struct store *s, struct err *e) {
  switch (lock_take(&s->lock, s->lock_path, e)) {
  case LOCK_TAKEN:
    return STORE_DONE;
  case LOCK_HELD:
    return STORE_AGAIN;
  default:
    return STORE_FAILED;
  }
}

enum store_result store_leave(struct store *s, enum store_result result) {
  lock_close(&s->lock);
  return result;
}
