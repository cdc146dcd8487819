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

/* ---- what a store holds, sealed or not ---- */

/* The first word of a key tells: tokens, sessions and the answers that a proxy keeps (an invitation's code is
 * one) are secret, counts and settings are not. */
static bool is_secret(struct bytes name) {
  static const char *const words[] = {"token", "session", "proxy"};
  size_t size = 0;
  while (size < name.size && name.data[size] != '/') size++;
  struct bytes word = {name.data, size};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (bytes_equal(word, bytes_of(words[i]))) return true;
  return false;
}

/* core.is_secret_record(name) */
static int l_is_secret_record(lua_State *L) {
  lua_pushboolean(L, is_secret(check_bytes(L, 1)));
  return 1;
}

/* core.seal_record(key or nil, name, value) -> the value as it is stored; nil, err, "store" */
static int l_seal_record(lua_State *L) {
  lua_settop(L, 3);
  if (lua_isnil(L, 1) || !is_secret(check_bytes(L, 2))) return 1;
  return l_seal(L);
}

/* core.unseal_record(key or nil, name, stored value) -> the value; nil, err, "store" */
static int l_unseal_record(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_settop(L, 3);
  if (!is_secret(check_bytes(L, 2)) || !is_sealed(check_bytes(L, 3))) return 1;
  if (!lua_isnil(L, 1)) return l_unseal(L);
  err_set(&e, KIND_store, "a stored record is sealed: give the store_key that it was sealed with");
  return push_failure(L, &e);
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
  static const luaL_Reg functions[] = {{"store_key", l_store_key},
                                       {"is_secret_record", l_is_secret_record},
                                       {"seal_record", l_seal_record},
                                       {"unseal_record", l_unseal_record},
                                       {NULL, NULL}};
  box_define(L, &seal_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
  set_text(L, "seal_mark", seal_mark);
}
