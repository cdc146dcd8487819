#include "crypto/random.h"

#include "crypto/internal.h"

#include <openssl/rand.h>
#include <string.h>
#include <sys/mman.h>

enum { POOL_BYTES = 4096 };

/* Random bytes drawn in advance: one call of the generator costs more than a whole signature. */
struct random_pool {
  size_t left;
  unsigned char bytes[POOL_BYTES - sizeof(size_t)];
};

/* A forked child must not hand out the bytes of its parent: the page is empty there, and left = 0 means draw
 * anew. */
struct random_pool *random_pool_new(void) {
#ifdef MADV_WIPEONFORK
  void *page =
      mmap(NULL, sizeof(struct random_pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, sizeof(struct random_pool), MADV_WIPEONFORK) == 0) return page;
  munmap(page, sizeof(struct random_pool));
#endif
  return NULL;
}

void random_pool_free(struct random_pool *p) {
  if (!p) return;
  wipe(p, sizeof *p);
  munmap(p, sizeof *p);
}

bool crypto_random(struct crypto *c, void *out, size_t size, struct err *e) {
  struct random_pool *p = c->pool;
  bool direct = !p || size > sizeof p->bytes / 4;
  if (direct && openssl_ok(RAND_bytes(out, (int)size) == 1)) return true;
  if (!direct && p->left < size)
    p->left = openssl_ok(RAND_bytes(p->bytes, sizeof p->bytes) == 1) ? sizeof p->bytes : 0;
  if (direct || p->left < size) return err_set(e, KIND_service, "the system gave no random bytes");
  p->left -= size;
  memcpy(out, p->bytes + p->left, size);
  wipe(p->bytes + p->left, size);
  return true;
}

bool crypto_random_text(struct crypto *c, struct buf *out, size_t bytes, struct err *e) {
  unsigned char raw[64];
  bool ok = bytes <= sizeof raw && crypto_random(c, raw, bytes, e);
  if (ok) buf_base64url(out, (struct bytes){raw, bytes});
  wipe(raw, sizeof raw);
  return ok && (buf_ok(out) || err_out_of_memory(e));
}
