#include "bind/crypto/context.h"
#include "store/seal.h"

struct seal_box {
  struct crypto *crypto; /* the key's */
  struct seal_key key;
};

static const struct box_type seal_type;

static void release_seal(void *object) {
  struct seal_box *b = object;
  wipe(&b->key, sizeof b->key);
  crypto_unref(b->crypto);
}

static int push_done(lua_State *L, bool done, const struct buf *out, const struct err *e) {
  if (!done) return push_failure(L, e);
  push_buf(L, out);
  return 1;
}

/* key:seal(name, value) -> sealed value; nil, err, "store" */
static int l_seal(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct seal_box *b = box_check(L, 1, &seal_type);
  struct bytes name = check_bytes(L, 2), value = check_bytes(L, 3);
  struct buf *out = push_scratch(L);
  return push_done(L, seal(&b->key, b->crypto, name, value, out, &e), out, &e);
}

/* key:unseal(name, sealed value) -> value; nil, err, "store" */
static int l_unseal(lua_State *L) {
  struct err e;
  err_clear(&e);
  const struct seal_box *b = box_check(L, 1, &seal_type);
  struct bytes name = check_bytes(L, 2), value = check_bytes(L, 3);
  struct buf *out = push_scratch(L);
  return push_done(L, unseal(&b->key, b->crypto, name, value, out, &e), out, &e);
}

static const luaL_Reg seal_methods[] = {{"seal", l_seal}, {"unseal", l_unseal}, {NULL, NULL}};
static const struct box_type seal_type = {"fleet.store_key", release_seal, seal_methods, NULL};

/* core.store_key(text [, insecure_key_mode]) -> key; nil, err, "invalid" or "store" */
static int l_store_key(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes text = check_bytes(L, 1);
  bool insecure = lua_toboolean(L, 2);
  struct crypto *c = state_crypto(L, &e);
  if (!c) return push_failure(L, &e);
  struct seal_box *b = box_new(L, &seal_type, sizeof *b, 0);
  if (!seal_key_read(&b->key, c, text, insecure, &e)) {
    wipe(&b->key, sizeof b->key);
    return push_failure(L, &e);
  }
  b->crypto = crypto_ref(c);
  box_open(L, -1);
  return 1;
}

void open_seals(lua_State *L) {
  box_define(L, &seal_type);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_store_key);
  lua_setfield(L, -2, "store_key");
  set_text(L, "seal_mark", seal_mark);
}
