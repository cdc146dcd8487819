#include "bind/signing/context.h"

#include "base/vin.h"
#include "bind/crypto/context.h"
#include "bind/lua/json.h"
#include "bind/lua/value.h"
#include "crypto/keyfile.h"
#include "signing/jws.h"

#include <string.h>

struct key_box {
  struct key *key;
};

static void release_key(void *object) {
  key_unref(((struct key_box *)object)->key);
}

static const struct box_type key_type;

/* Checked behind everything that is made: that may run a finaliser of the host's, which may close it. */
struct key *check_key(lua_State *L, int index) {
  return ((struct key_box *)box_check(L, index, &key_type))->key;
}

static int push_key(lua_State *L, int box, struct key *k, const struct err *e) {
  if (!k) return push_failure(L, e);
  ((struct key_box *)box_test(L, box, &key_type))->key = k;
  box_open(L, box);
  lua_pushvalue(L, box);
  return 1;
}

/* fleet.key.generate() -> key */
static int l_generate(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct crypto *c = state_crypto(L, &e);
  box_new(L, &key_type, sizeof(struct key_box), 0);
  return push_key(L, lua_gettop(L), c ? key_generate(c, &e) : NULL, &e);
}

static bool insecure_mode(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) return false;
  static const char *const names[] = {"insecure_key_mode"};
  check_options(L, index, names, 1);
  lua_getfield(L, index, names[0]);
  bool insecure = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return insecure;
}

static bool is_pem(struct bytes text) {
  static const char mark[] = "-----BEGIN";
  return text.size && memmem(text.data, text.size, mark, sizeof mark - 1);
}

/* A number is no path: a file of that name would be read or made. */
static void check_path(lua_State *L, int index, const char *what) {
  if (lua_type(L, index) != LUA_TSTRING) usage_error(L, "%s expected, got %s", what, luaL_typename(L, index));
}

/* fleet.key.load(path or PEM text, passphrase, { insecure_key_mode = }) -> key, or nil, err, kind */
static int l_load(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_path(L, 1, "key.load: a path or PEM text");
  struct bytes given = check_bytes(L, 1);
  struct bytes passphrase = lua_isnoneornil(L, 2) ? (struct bytes){NULL, 0} : check_bytes(L, 2);
  bool insecure = insecure_mode(L, 3), text = is_pem(given);
  luaL_argcheck(L, text || (given.size && strlen((const char *)given.data) == given.size), 1,
                "a path or PEM text is needed");
  struct crypto *c = state_crypto(L, &e);
  box_new(L, &key_type, sizeof(struct key_box), 0);
  int box = lua_gettop(L);
  struct buf *pem = push_scratch(L);
  if (text) buf_add(pem, given.data, given.size);
  bool ok = c && (text || keyfile_read(pem, (const char *)given.data, insecure, &e));
  struct key *k = ok ? key_parse(c, buf_bytes(pem), passphrase, &e) : NULL;
  box_close(L, -1);
  return push_key(L, box, k, &e);
}

/* key:save(path, passphrase) -> true, or nil, err, kind; never over an existing file */
static int l_save(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_key(L, 1);
  check_path(L, 2, "key:save: a path");
  const char *path = lua_tostring(L, 2);
  struct bytes passphrase = lua_isnoneornil(L, 3) ? (struct bytes){NULL, 0} : check_bytes(L, 3);
  struct buf *pem = push_scratch(L);
  struct key *k = check_key(L, 1);
  bool ok = key_private_pem(k, passphrase, pem, &e) && keyfile_write(path, buf_bytes(pem), &e);
  box_close(L, -1);
  if (!ok) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* fleet.key.public_bytes(PEM text as it is hosted) -> 65 bytes, or nil, err, kind */
static int l_read_public(lua_State *L) {
  struct err e;
  err_clear(&e);
  unsigned char public[PUBLIC_SIZE];
  if (!key_public_parse(check_bytes(L, 1), public, &e)) return push_failure(L, &e);
  lua_pushlstring(L, (const char *)public, sizeof public);
  return 1;
}

/* core.public_key_hex(a public key: PEM text, 130 hex digits or 65 bytes) -> its 130 hex digits, or nil, err,
 * kind */
static int l_public_key_hex(lua_State *L) {
  struct err e;
  err_clear(&e);
  unsigned char public[PUBLIC_SIZE];
  struct bytes given = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  if (!c || !key_public_read(c, given, public, &e)) return push_failure(L, &e);
  struct buf *hex = push_scratch(L);
  buf_hex(hex, (struct bytes){public, sizeof public});
  push_buf(L, hex);
  return 1;
}

static int l_public_pem(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_key(L, 1);
  struct buf *pem = push_scratch(L);
  if (!key_public_pem(check_key(L, 1), pem, &e)) return push_failure(L, &e);
  push_buf(L, pem);
  return 1;
}

static int l_public_bytes(lua_State *L) {
  unsigned char public[PUBLIC_SIZE];
  memcpy(public, key_public(check_key(L, 1)), sizeof public);
  lua_pushlstring(L, (const char *)public, sizeof public);
  return 1;
}

static int l_fingerprint(lua_State *L) {
  check_key(L, 1);
  struct buf *hex = push_scratch(L);
  if (!key_fingerprint(check_key(L, 1), hex)) return luaL_error(L, "out of memory");
  push_buf(L, hex);
  return 1;
}

/* core.public_fingerprint(65 bytes) -> as key:fingerprint() of the key they belong to */
static int l_public_fingerprint(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes public = check_bytes(L, 1);
  luaL_argcheck(L, public.size == PUBLIC_SIZE, 1, "65 bytes expected");
  struct crypto *c = state_crypto(L, &e);
  if (!c) return push_failure(L, &e);
  struct buf *hex = push_scratch(L);
  if (!key_public_fingerprint(c, public.data, hex)) return luaL_error(L, "out of memory");
  push_buf(L, hex);
  return 1;
}

/* ---- tokens ---- */

static const char *string_option(lua_State *L, int index, const char *name, const char *fallback) {
  if (lua_isnoneornil(L, index)) return fallback;
  int type = lua_getfield(L, index, name);
  if (type != LUA_TNIL && type != LUA_TSTRING) luaL_error(L, "option '%s' must be a string", name);
  return type == LUA_TNIL ? fallback : lua_tostring(L, -1); /* stays on the stack, so the text stays alive */
}

/* key:jws(claims, { vin =, app = "TelemetryClient" }) -> token, or nil, err, kind */
static int l_jws(lua_State *L) {
  static const char *const names[] = {"vin", "app"};
  struct err e;
  err_clear(&e);
  check_key(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  check_options(L, 3, names, 2);
  const char *vin = string_option(L, 3, "vin", NULL), *app = string_option(L, 3, "app", "TelemetryClient");
  if (vin && !is_vin(bytes_of(vin))) return usage_error(L, "option 'vin' is not a VIN: " VIN_SPELLING);
  if (!jws_is_app(app)) return luaL_error(L, "option 'app' must be a name of letters and digits");
  struct arena *a = push_arena(L);
  struct node *claims = value_at(L, 2, a);
  struct buf *text = push_scratch(L), *token = push_scratch(L);
  if (!jws_claims(a, claims, check_key(L, 1), vin, app, text, &e))
    return e.kind == KIND_invalid ? usage_error(L, "%s", e.message) : push_failure(L, &e);
  if (!jws_sign(check_key(L, 1), buf_bytes(text), token, &e)) return push_failure(L, &e);
  push_buf(L, token);
  return 1;
}

/* The parts of a token, in a box, because decoding its JSON can raise. */
static void release_token(void *object) {
  jws_free(object);
}

static const struct box_type token_type = {"fleet.token", release_token, NULL, NULL};

/* fleet.jws_verify(token, public_bytes) -> claims, or nil, err, kind */
static int l_jws_verify(lua_State *L) {
  expect_type(L, 1, LUA_TSTRING, "jws_verify: a token");
  expect_type(L, 2, LUA_TSTRING, "jws_verify: the bytes of a public key");
  struct err e;
  err_clear(&e);
  struct bytes token = check_bytes(L, 1), public = check_bytes(L, 2);
  struct crypto *c = state_crypto(L, &e);
  struct jws *t = box_new(L, &token_type, sizeof *t, 0);
  box_open(L, -1);
  int box = lua_gettop(L);
  bool ok = c && jws_read(t, token, &e) && jws_has_algorithm(t, &e) && jws_verify(c, t, public, &e) &&
            json_decode(L, buf_bytes(&t->claims), NULL, &e);
  box_close(L, box);
  return ok ? 1 : push_failure(L, &e);
}

static const luaL_Reg key_methods[] = {{"save", l_save},
                                       {"public_pem", l_public_pem},
                                       {"public_bytes", l_public_bytes},
                                       {"fingerprint", l_fingerprint},
                                       {"jws", l_jws},
                                       {NULL, NULL}};
static const struct box_type key_type = {"fleet.key", release_key, key_methods, NULL};

void open_keys(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"generate", l_generate}, {"load", l_load}, {"public_bytes", l_read_public}, {NULL, NULL}};
  box_define(L, &key_type);
  box_define(L, &token_type);
  lua_pop(L, 2);
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "key");
  lua_pushcfunction(L, l_jws_verify);
  lua_setfield(L, -2, "jws_verify");
  lua_pushcfunction(L, l_public_fingerprint);
  lua_setfield(L, -2, "public_fingerprint");
  lua_pushcfunction(L, l_public_key_hex);
  lua_setfield(L, -2, "public_key_hex");
}
