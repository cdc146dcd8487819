#include "store/seal.h"

#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/keyfile.h"
#include "crypto/random.h"

#include <string.h>

const char seal_mark[] = "fleet-sealed 1\n";
enum { MAGIC_SIZE = sizeof seal_mark - 1, HEAD_SIZE = MAGIC_SIZE + SEAL_ID_SIZE + NONCE_SIZE + GCM_TAG_SIZE };

/* ---- the key ---- */

static bool take_bytes(struct seal_key *k, const struct buf *b) {
  if (!buf_ok(b) || b->size != SEAL_KEY_SIZE) return false;
  memcpy(k->bytes, b->data, SEAL_KEY_SIZE);
  return true;
}

static bool read_text(struct seal_key *k, struct bytes text) {
  struct buf b = BUF_INIT;
  bool hex = text.size == 2 * SEAL_KEY_SIZE;
  bool done = (hex ? buf_unhex(&b, text) : buf_unbase64url(&b, text)) && take_bytes(k, &b);
  buf_free(&b);
  return done;
}

static struct bytes without_line_end(struct bytes text) {
  while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r')) text.size--;
  return text;
}

static bool not_a_key(struct err *e, const char *where) {
  return err_set(e, KIND_invalid, "store_key: %s must be 32 bytes as 64 hex digits or as base64url", where);
}

static bool read_file(struct seal_key *k, struct bytes name, bool insecure_mode, struct err *e) {
  struct buf path = BUF_INIT, text = BUF_INIT;
  buf_add(&path, name.data, name.size);
  bool done = buf_ok(&path) ? keyfile_read(&text, buf_text(&path), insecure_mode, e) : err_out_of_memory(e);
  if (done) done = read_text(k, without_line_end(buf_bytes(&text))) || not_a_key(e, "what the file holds");
  buf_free(&text);
  buf_free(&path);
  return done;
}

static bool name_key(struct seal_key *k, struct crypto *c) {
  static const char purpose[] = "fleet store key";
  unsigned char in[sizeof purpose + SEAL_KEY_SIZE], digest[HASH_SIZE];
  memcpy(in, purpose, sizeof purpose);
  memcpy(in + sizeof purpose, k->bytes, SEAL_KEY_SIZE);
  bool done = crypto_sha256(c, (struct bytes){in, sizeof in}, digest);
  memcpy(k->id, digest, SEAL_ID_SIZE);
  wipe(in, sizeof in);
  return done;
}

bool seal_key_read(struct seal_key *k, struct crypto *c, struct bytes text, bool insecure_mode,
                   struct err *e) {
  bool file = text.size > 1 && text.data[0] == '@';
  bool done = file ? read_file(k, (struct bytes){text.data + 1, text.size - 1}, insecure_mode, e)
                   : read_text(k, text) || not_a_key(e, "the text");
  return done && (name_key(k, c) || err_out_of_memory(e));
}

/* ---- values ---- */

bool is_sealed(struct bytes value) {
  return value.size >= MAGIC_SIZE && memcmp(value.data, seal_mark, MAGIC_SIZE) == 0;
}

static struct bytes key_bytes(const struct seal_key *k) {
  return (struct bytes){k->bytes, SEAL_KEY_SIZE};
}

bool seal(const struct seal_key *k, struct crypto *c, struct bytes name, struct bytes plain, struct buf *out,
          struct err *e) {
  unsigned char nonce[NONCE_SIZE], tag[GCM_TAG_SIZE];
  struct buf cipher = BUF_INIT;
  if (!crypto_random(c, nonce, sizeof nonce, e)) return false;
  bool done = crypto_seal(c, key_bytes(k), nonce, name, plain, &cipher, tag) && buf_ok(&cipher);
  if (done) {
    buf_text_add(out, seal_mark);
    buf_add(out, k->id, SEAL_ID_SIZE);
    buf_add(out, nonce, sizeof nonce);
    buf_add(out, tag, sizeof tag);
    buf_add(out, cipher.data, cipher.size);
  }
  buf_free(&cipher);
  return (done && buf_ok(out)) || err_set(e, KIND_store, "a value could not be sealed: out of memory");
}

bool unseal(const struct seal_key *k, struct crypto *c, struct bytes name, struct bytes sealed,
            struct buf *out, struct err *e) {
  if (sealed.size < HEAD_SIZE || !is_sealed(sealed))
    return err_set(e, KIND_store, "a sealed record is damaged: it is too short");
  const unsigned char *id = sealed.data + MAGIC_SIZE, *nonce = id + SEAL_ID_SIZE, *tag = nonce + NONCE_SIZE;
  if (memcmp(id, k->id, SEAL_ID_SIZE) != 0)
    return err_set(e, KIND_store, "a record was sealed with another store_key: nothing was overwritten");
  struct bytes cipher = {tag + GCM_TAG_SIZE, sealed.size - HEAD_SIZE};
  if (crypto_unseal(c, key_bytes(k), (struct bytes){nonce, NONCE_SIZE}, name, cipher,
                    (struct bytes){tag, GCM_TAG_SIZE}, out))
    return true;
  return err_set(e, KIND_store, "a sealed record is damaged, or was moved here from another key");
}
