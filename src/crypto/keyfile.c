#include "crypto/keyfile.h"

#include "base/draft.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { KEY_FILE_LIMIT = 1 << 16 };

static bool say(struct err *e, enum kind kind, const char *path, const char *what) {
  return err_set(e, kind, "%s %s", path, what);
}

/* A link is followed: containers hand out secrets that way. */
bool keyfile_read(struct buf *pem, const char *path, bool insecure_mode, struct err *e) {
  struct file_facts facts;
  if (file_read(pem, path, KEY_FILE_LIMIT, FILE_FOLLOW, &facts, e) != FILE_OK) return false;
  if (insecure_mode || !(facts.mode & 077)) return true;
  buf_clear(pem);
  return say(e, KIND_invalid, path,
             "can be read by other users: `chmod 600` it, and replace the key if others may have seen it");
}

bool keyfile_write(const char *path, struct bytes pem, struct err *e) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST)
    return say(e, KIND_conflict, path, "is there already: a key is never written over another file");
  if (fd < 0)
    return say(e, KIND_store, path, "cannot be created: check that its directory exists and may be written");
  bool ok = file_overwrite(fd, pem) && fsync(fd) == 0;
  if (close(fd) != 0) ok = false;
  if (ok) return true;
  unlink(path);
  return say(e, KIND_store, path, "could not be written whole: check the space on the disk");
}
