/* Looks into every block of memory at the moment it is freed, by this module's own copy of the core and by
 * OpenSSL, for secrets that should have been wiped before. It must be loaded before anything else uses
 * OpenSSL: in a process of its own. */
#include "bind/lua/versions.h"
#include "signing/jws.h"
#include "signing/receiver.h"
#include "signing/session.h"

#include <dlfcn.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SECRETS = 8 };

static struct bytes secrets[MOST_SECRETS];
static size_t secret_count, found, looked_at;

static void look(const void *data, size_t size) {
  looked_at += size;
  for (size_t i = 0; i < secret_count; i++)
    if (size >= secrets[i].size && memmem(data, size, secrets[i].data, secrets[i].size)) found++;
}

/* The objects of the core that are linked into this module call this one. */
void free(void *p) {
  void (*next)(void *);
  *(void **)&next = dlsym(RTLD_DEFAULT, "free");
  if (p) look(p, malloc_usable_size(p));
  next(p);
}

static void *openssl_malloc(size_t size, const char *file, int line) {
  (void)file, (void)line;
  return malloc(size);
}

static void openssl_free(void *p, const char *file, int line) {
  (void)file, (void)line;
  free(p);
}

static void *openssl_realloc(void *p, size_t size, const char *file, int line) {
  void *fresh = malloc(size);
  size_t old = p ? malloc_usable_size(p) : 0;
  if (!fresh) return NULL;
  if (p) memcpy(fresh, p, old < size ? old : size), openssl_free(p, file, line);
  return fresh;
}

static void remember(const void *data, size_t size) {
  static unsigned char copies[MOST_SECRETS][MAC_SIZE];
  memcpy(copies[secret_count], data, size);
  secrets[secret_count] = (struct bytes){copies[secret_count], size};
  secret_count++;
}

static void learn(const struct key *k, const struct key *peer) {
  struct err e;
  err_clear(&e);
  unsigned char scalar[SCALAR_SIZE], shared[SHARED_SIZE], command[MAC_SIZE], info[MAC_SIZE];
  key_scalar(k, scalar);
  key_shared(k, (struct bytes){key_public(peer), PUBLIC_SIZE}, shared, &e);
  derive_keys(key_crypto(k), shared, command, info);
  remember(scalar, sizeof scalar);
  remember(shared, sizeof shared);
  remember(command, sizeof command);
  remember(info, sizeof info);
}

static void exchange(struct session *s, struct receiver *r, enum method method) {
  struct err e;
  err_clear(&e);
  struct message_random d = {{1}, {2}, {3}};
  struct sign_options o = {method, 15, FLAG_ENCRYPT_RESPONSE};
  struct buf sent = BUF_INIT, reply = BUF_INIT, plain = BUF_INIT;
  struct arena arena;
  struct arrival a;
  struct answer answer;
  if (session_ready(s))
    session_sign(s, bytes_of("\x12\x04\x52\x02\x08\x01"), &o, &d, 0, &sent, &e);
  else
    session_handshake(s, &d, 0, &sent, &e);
  arena_start(&arena, 4 * MESSAGE_LIMIT);
  receiver_open(r, buf_bytes(&sent), 0, &arena, &a, &plain, &e);
  receiver_reply(r, &a, (struct bytes){NULL, 0}, d.nonce, 0, &reply, &e);
  if (session_ready(s))
    session_open(s, buf_bytes(&reply), 0, &answer, &plain, &e);
  else
    session_accept(s, buf_bytes(&reply), 0, &e);
  arrival_end(&a);
  arena_end(&arena);
  buf_free(&sent);
  buf_free(&reply);
  buf_free(&plain);
}

/* live() -> whether a session began, spoke in both ways, was exported and released */
static int l_live(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *vin = "5YJ30123456789ABC";
  struct crypto *c = crypto_new(&e);
  struct key *client = key_generate(c, &e), *vehicle = key_generate(c, &e);
  struct session *s = session_new(client, vin, DOMAIN_INFOTAINMENT, &e);
  struct receiver *r = receiver_new(vehicle, vin, DOMAIN_INFOTAINMENT, &e);
  struct enrolled who = {.role = ROLE_OWNER};
  struct buf state = BUF_INIT, pem = BUF_INIT, token = BUF_INIT;
  memcpy(who.public, key_public(client), PUBLIC_SIZE);
  receiver_enroll(r, &who, 1, &e);
  receiver_begin_epoch(r, who.public, 0);
  learn(client, vehicle);
  for (int i = 0; i < 3; i++) exchange(s, r, i == 1 ? METHOD_GCM : METHOD_HMAC);
  bool ok = session_ready(s) && session_counter(s) == 2 && session_export(s, 0, 0, 0, &state, &e);
  ok = ok && session_import(s, buf_bytes(&state), 0, 0);
  key_private_pem(client, (struct bytes){NULL, 0}, &pem, &e);
  struct key *again = key_parse(c, buf_bytes(&pem), (struct bytes){NULL, 0}, &e);
  ok = ok && again && jws_sign(again, bytes_of("{}"), &token, &e);
  key_unref(again);
  buf_free(&pem);
  buf_free(&token);
  buf_free(&state);
  session_free(s);
  receiver_free(r);
  key_unref(client);
  key_unref(vehicle);
  crypto_unref(c);
  lua_pushboolean(L, ok);
  return 1;
}

/* leak() frees a block that holds a secret: the look-out must see it */
static int l_leak(lua_State *L) {
  (void)L;
  void (*volatile release)(void *) = free; /* volatile: or the compiler drops the whole block */
  unsigned char *copy = malloc(100);
  memcpy(copy + 50, secrets[0].data, secrets[0].size);
  release(copy);
  return 0;
}

/* found() -> how many freed blocks held a secret, how many bytes were looked at */
static int l_found(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)found);
  lua_pushinteger(L, (lua_Integer)looked_at);
  return 2;
}

__attribute__((visibility("default"))) int luaopen_probe_wipe(lua_State *L) {
  static const luaL_Reg functions[] = {{"live", l_live}, {"leak", l_leak}, {"found", l_found}, {NULL, NULL}};
  if (!CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free))
    return luaL_error(L, "OpenSSL was used before this probe was loaded");
  luaL_newlib(L, functions);
  return 1;
}
