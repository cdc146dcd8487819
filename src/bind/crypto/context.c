#include "bind/crypto/context.h"
#include "crypto/digest.h"
#include "crypto/random.h"
#include "crypto/x509.h"

/* Not a box: it belongs to the Lua state, and no caller can close it. */
struct shared {
  struct crypto *crypto;
};

static const char shared_key;

static int l_shared_gc(lua_State *L) {
  struct shared *s = lua_touserdata(L, 1);
  crypto_unref(s->crypto);
  s->crypto = NULL;
  return 0;
}

struct crypto *state_crypto(lua_State *L, struct err *e) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &shared_key);
  struct shared *s = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!s->crypto) s->crypto = crypto_new(e);
  return s->crypto;
}

uint64_t fresh_id(lua_State *L) {
  static const uint64_t lowest = 10000000000, beyond = 1000000000000000;
  struct err e;
  err_clear(&e);
  uint64_t random = 0;
  struct crypto *c = state_crypto(L, &e);
  if (!c || !crypto_random(c, &random, sizeof random, &e)) luaL_error(L, "%s", e.message);
  return lowest + random % (beyond - lowest);
}

static void open_shared(lua_State *L) {
  struct shared *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (struct shared){NULL};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_shared_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &shared_key);
}

/* core.random_text(bytes) -> base64url text of so many random bytes, at most 64; nil, err, kind */
static int l_random_text(lua_State *L) {
  struct err e;
  err_clear(&e);
  lua_Integer bytes = luaL_checkinteger(L, 1);
  luaL_argcheck(L, bytes > 0 && bytes <= 64, 1, "1 to 64 bytes expected");
  struct crypto *c = state_crypto(L, &e);
  struct buf *text = push_scratch(L);
  if (!c || !crypto_random_text(c, text, (size_t)bytes, &e)) return push_failure(L, &e);
  push_buf(L, text);
  return 1;
}

/* core.same_secret(bytes, bytes) -> whether they are equal; the time says nothing but their lengths */
static int l_same_secret(lua_State *L) {
  lua_pushboolean(L, bytes_equal_secret(check_bytes(L, 1), check_bytes(L, 2)));
  return 1;
}

/* core.sha256(bytes) -> 64 hex digits */
static int l_sha256(lua_State *L) {
  struct err e;
  err_clear(&e);
  unsigned char hash[HASH_SIZE];
  struct bytes in = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  if (c && !crypto_sha256(c, in, hash)) err_set(&e, KIND_service, "OpenSSL made no SHA-256"), c = NULL;
  if (!c) return push_failure(L, &e);
  struct buf *hex = push_scratch(L);
  buf_hex(hex, (struct bytes){hash, sizeof hash});
  push_buf(L, hex);
  return 1;
}

/* core.sha1(bytes) -> 20 bytes: names a key, protects nothing */
static int l_sha1(lua_State *L) {
  struct err e;
  err_clear(&e);
  unsigned char hash[SHA1_SIZE];
  struct bytes in = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  if (c && !crypto_sha1(c, in, hash)) err_set(&e, KIND_service, "OpenSSL made no SHA-1"), c = NULL;
  if (!c) return push_failure(L, &e);
  lua_pushlstring(L, (const char *)hash, sizeof hash);
  return 1;
}

/* fleet.base64(bytes) -> text */
static int l_base64(lua_State *L) {
  expect_type(L, 1, LUA_TSTRING, "base64: a string");
  struct bytes in = check_bytes(L, 1);
  struct buf *out = push_scratch(L);
  buf_base64(out, in);
  push_buf(L, out);
  return 1;
}

/* fleet.unbase64(text) -> bytes, or nil, err, kind */
static int l_unbase64(lua_State *L) {
  expect_type(L, 1, LUA_TSTRING, "unbase64: a string");
  struct err e;
  err_clear(&e);
  struct bytes in = check_bytes(L, 1);
  struct buf *out = push_scratch(L);
  if (!buf_unbase64(out, in))
    return err_set(&e, KIND_protocol, "this is not base64 text"), push_failure(L, &e);
  push_buf(L, out);
  return 1;
}

/* ---- certificates ---- */

static void push_certificate(lua_State *L, const struct certificate *one) {
  lua_createtable(L, 0, 2);
  set_integer(L, "until_utc", (lua_Integer)one->until);
  set_boolean(L, "has_issuer", one->has_issuer);
}

/* core.certificates(pem, host or nil) -> list of { until_utc =, has_issuer = }, and whether it holds servers'
 * certificates of which none names the host; or nil, err, kind */
static int l_certificates(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct chain chain;
  struct bytes host = lua_isnoneornil(L, 2) ? bytes_of("") : check_bytes(L, 2);
  if (!x509_chain(check_bytes(L, 1), host, &chain, &e)) return push_failure(L, &e);
  lua_createtable(L, (int)chain.count, 0);
  for (size_t i = 0; i < chain.count; i++) {
    push_certificate(L, &chain.at[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushboolean(L, host.size && chain.servers && !chain.named);
  return 2;
}

void open_crypto(lua_State *L) {
  static const luaL_Reg functions[] = {{"random_text", l_random_text},
                                       {"sha256", l_sha256},
                                       {"sha1", l_sha1},
                                       {"base64", l_base64},
                                       {"unbase64", l_unbase64},
                                       {"same_secret", l_same_secret},
                                       {"certificates", l_certificates},
                                       {NULL, NULL}};
  open_shared(L);
  luaL_setfuncs(L, functions, 0);
}
