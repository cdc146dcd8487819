/* Requests that say in their heads, byte for byte, what an earlier one said, but for the value of
 * Authorization, which whoever remembers compares himself. */
#include "server/server.h"

#include <string.h>

enum { MOST_KNOWN = 1024, LARGEST_HEAD = 1024 };

static const char AUTHORIZATION[] = "authorization";

struct head {
  char text[LARGEST_HEAD];
  size_t size;
  bool whole; /* false: it is too long, or says twice who asks */
};

static void add(struct head *h, const char *data, size_t size) {
  h->whole = h->whole && size <= sizeof h->text - h->size;
  if (!h->whole) return;
  memcpy(h->text + h->size, data, size);
  h->size += size;
}

/* Names and values end with a NUL, which none of them holds. */
static void read_head(struct head *h, const struct exchange *x) {
  struct bytes target = exchange_target(x), headers = exchange_headers(x);
  const char *method = exchange_method(x), *at = (const char *)headers.data, *end = at + headers.size;
  int authorizations = 0;
  h->size = 0;
  h->whole = true;
  add(h, method, strlen(method) + 1);
  add(h, (const char *)target.data, target.size);
  add(h, "", 1);
  while (at < end) {
    size_t name = strlen(at) + 1, value = strlen(at + name) + 1;
    bool secret = strcmp(at, AUTHORIZATION) == 0;
    add(h, at, secret ? name : name + value);
    authorizations += secret;
    at += name + value;
  }
  h->whole = h->whole && authorizations <= 1;
}

/* By a number in place of the text, which is made anew with each request: of those with one number the last
 * is remembered, and its text stands under the number's negative. */
static lua_Integer number_of(const struct head *h) {
  enum { WORD = 8, SPARED_BITS = 17 /* a double holds what is left */ };
  uint64_t sum = h->size, word = 0;
  size_t i = 0;
  for (; i + WORD <= h->size; i += WORD) {
    memcpy(&word, h->text + i, WORD);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  word = 0;
  memcpy(&word, h->text + i, h->size - i);
  sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
  return (lua_Integer)(sum >> SPARED_BITS) + 1;
}

static bool says_the_same(lua_State *L, const struct head *h) {
  size_t size;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  return text && size == h->size && memcmp(text, h->text, size) == 0;
}

void known_push_authorization(lua_State *L, const struct exchange *x) {
  struct bytes headers = exchange_headers(x);
  const char *at = (const char *)headers.data, *end = at + headers.size;
  while (at < end && strcmp(at, AUTHORIZATION) != 0) {
    at += strlen(at) + 1;
    at += strlen(at) + 1;
  }
  lua_pushstring(L, at < end ? at + sizeof AUTHORIZATION : NULL);
}

bool known_push(lua_State *L, const struct exchange *x) {
  struct head h;
  read_head(&h, x);
  if (!h.whole || lua_getiuservalue(L, 1, HOLDS_KNOWN) != LUA_TTABLE) return false;
  lua_Integer number = number_of(&h);
  lua_rawgeti(L, -1, -number);
  return says_the_same(L, &h) && lua_rawgeti(L, -2, number) != LUA_TNIL;
}

/* Whoever asks in ever new ways cannot make the table grow. */
static void push_table(lua_State *L, struct server *s, int server) {
  if (lua_getiuservalue(L, server, HOLDS_KNOWN) == LUA_TTABLE && s->known < MOST_KNOWN) return;
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, server, HOLDS_KNOWN);
  s->known = 0;
}

void known_remember(lua_State *L, struct server *s, int server, const struct exchange *x) {
  struct head h;
  int value = lua_gettop(L);
  read_head(&h, x);
  if (!h.whole) return;
  push_table(L, s, server);
  lua_Integer number = number_of(&h);
  lua_pushlstring(L, h.text, h.size);
  if (lua_rawgeti(L, -2, number) == LUA_TNIL) s->known++;
  lua_pop(L, 1);
  lua_pushnil(L); /* where memory ends below, nothing stands under another's text */
  lua_rawseti(L, -3, number);
  lua_rawseti(L, -2, -number);
  lua_pushvalue(L, value);
  lua_rawseti(L, -2, number);
}
