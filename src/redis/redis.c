#include "bind/lua/bind.h"
#include "redis/channel.h"
#include "redis/push.h"
#include "redis/replies.h"

#include <string.h>

enum {
  PIECE = 16384,     /* bytes read at once */
  PIECES = 16,       /* per step: then other descriptors are served */
  MOST_WORDS = 1024, /* of a command */
  LARGEST_COMMAND = 4 * 1024 * 1024,
};

struct connection {
  struct channel channel;
  struct replies replies;
  struct taken *current; /* see l_take; its box is a user value */
};

enum { USER_TAKEN = 1, USER_VALUES = 1 };

/* ---- the box ---- */

static void release_connection(void *object) {
  struct connection *c = object;
  c->current = NULL;
  replies_close(&c->replies);
  channel_close(&c->channel);
}

static int l_fd(lua_State *L);
static int l_send(lua_State *L);
static int l_step(lua_State *L);
static int l_take(lua_State *L);
static int l_flush(lua_State *L);
static int l_mode(lua_State *L);
static int l_forked(lua_State *L);

static const luaL_Reg methods[] = {{"fd", l_fd},         {"send", l_send},   {"step", l_step},
                                   {"take", l_take},     {"flush", l_flush}, {"mode", l_mode},
                                   {"forked", l_forked}, {NULL, NULL}};
static const struct box_type connection_type = {"fleet.redis.connection", release_connection, methods, NULL};

static struct connection *check_connection(lua_State *L) {
  struct connection *c = box_check(L, 1, &connection_type);
  if (channel_forked(&c->channel)) luaL_error(L, "the connection to Redis was made before fork");
  return c;
}

/* ---- sending ---- */

static void check_words(lua_State *L, int count) {
  size_t total = 0;
  luaL_argcheck(L, count >= 1 && count <= MOST_WORDS, 2, "a command has 1 to 1024 words");
  for (int i = 2; i <= count + 1; i++) {
    luaL_argcheck(L, lua_type(L, i) == LUA_TSTRING, i, "the words of a command are strings");
    total += lua_rawlen(L, i);
  }
  luaL_argcheck(L, total <= LARGEST_COMMAND, 2, "a command has at most 4 MiB");
}

static void add_word(struct buf *out, struct bytes word) {
  buf_put(out, '$');
  buf_integer(out, (int64_t)word.size);
  buf_text_add(out, "\r\n");
  buf_add(out, word.data, word.size);
  buf_text_add(out, "\r\n");
}

/* A command that does not fit goes whole: half of one would spoil all that follow. */
static bool add_command(lua_State *L, struct buf *out, int count) {
  size_t before = out->size;
  buf_put(out, '*');
  buf_integer(out, count);
  buf_text_add(out, "\r\n");
  for (int i = 2; i <= count + 1; i++) add_word(out, check_bytes(L, i));
  if (buf_ok(out)) return true;
  out->size = before;
  out->failed = false;
  return false;
}

/* connection:send(word, ...) -> true | nil, err, kind: appended; flush() and step() write it */
static int l_send(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct connection *c = check_connection(L);
  int count = lua_gettop(L) - 1;
  check_words(L, count);
  if (!add_command(L, &c->channel.out, count)) {
    err_out_of_memory(&e);
    return push_failure(L, &e);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* connection:flush() -> true | nil, err, kind: connects and writes what is possible without waiting */
static int l_flush(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (!channel_flush(&check_connection(L)->channel, &e)) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- receiving ---- */

static bool receive(struct connection *c, struct err *e) {
  unsigned char piece[PIECE];
  size_t got = 1;
  bool good = true;
  for (int i = 0; good && got && (i < PIECES || channel_holds_more(&c->channel)); i++) {
    good = channel_read(&c->channel, piece, sizeof piece, &got, e);
    if (good && got) good = replies_feed(&c->replies, (struct bytes){piece, got}, e);
    wipe(piece, got);
  }
  return good;
}

/* connection:step() -> true | nil, err, kind: connects, writes and reads what is possible without waiting.
 * After a failure take() still gives what came before it. */
static int l_step(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct connection *c = check_connection(L);
  bool wrote = channel_flush(&c->channel, &e);
  bool read = receive(c, wrote ? &e : NULL);
  if (!wrote || !read) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

/* A reply that is being converted to Lua values. The conversion may run a finaliser of the host, which may
 * close the connection or take replies itself. Replies are matched by their order: the finaliser then gets
 * this reply, and the interrupted call takes the next one. */
struct taken {
  redisReply *reply;
};

static void release_taken(void *object) {
  replies_forget(((struct taken *)object)->reply);
}

static const struct box_type taken_type = {"fleet.redis.reply", release_taken, NULL, NULL};

/* Pushes the box of the next reply; NULL where there is none. made: by this call, which gives it back
 * alone. */
static struct taken *push_next(lua_State *L, struct connection *c, bool *made, struct err *e) {
  struct taken *t = c->current ? NULL : box_new(L, &taken_type, sizeof *t, 0);
  *made = t && box_is_open(L, 1) && !c->current;
  if (t && !*made) box_close(L, 2);
  if (!*made) {
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, USER_TAKEN);
    return c->current;
  }
  box_open(L, 2);
  if (!replies_next(&c->replies, &t->reply, e) || !t->reply) return box_close(L, 2), NULL;
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 1, USER_TAKEN);
  return c->current = t;
}

/* Pushes the reply unless other code took it meanwhile. */
static bool push_taken(lua_State *L, struct connection *c, const struct taken *t, bool made) {
  push_reply(L, t->reply);
  bool ours = c->current == t;
  if (ours) {
    c->current = NULL;
    lua_pushnil(L);
    lua_setiuservalue(L, 1, USER_TAKEN);
  }
  if (made) box_close(L, 2);
  return ours;
}

/* connection:take() -> reply | nil when there is none | nil, err, kind */
static int l_take(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct connection *c = check_connection(L);
  const struct taken *t;
  bool made;
  do {
    lua_settop(L, 1);
    t = push_next(L, c, &made, &e);
  } while (t && !push_taken(L, c, t, made));
  if (t) return 1;
  return e.kind ? push_failure(L, &e) : 0;
}

/* ---- the loop's side ---- */

static int l_fd(lua_State *L) {
  lua_pushinteger(L, check_connection(L)->channel.fd);
  return 1;
}

/* connection:mode() -> what to wait for: "r" or "rw" */
static int l_mode(lua_State *L) {
  lua_pushstring(L, channel_wants_to_write(&check_connection(L)->channel) ? "rw" : "r");
  return 1;
}

static int l_forked(lua_State *L) {
  const struct connection *c = box_check(L, 1, &connection_type);
  lua_pushboolean(L, channel_forked(&c->channel));
  return 1;
}

/* ---- making one ---- */

/* The string stays in the table at index 1. */
static const char *text_option(lua_State *L, const char *name) {
  size_t size;
  if (lua_getfield(L, 1, name) == LUA_TNIL) return lua_pop(L, 1), NULL;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!text || strlen(text) != size) luaL_error(L, "option '%s' is a string", name);
  lua_pop(L, 1);
  return text;
}

static lua_Integer integer_option(lua_State *L, const char *name, lua_Integer max) {
  int whole = 1;
  lua_getfield(L, 1, name);
  lua_Integer value = lua_isnil(L, -1) ? 0 : lua_tointegerx(L, -1, &whole);
  if (!whole || value < 0 || value > max)
    luaL_error(L, "option '%s' is an integer from 0 to %d", name, (int)max);
  lua_pop(L, 1);
  return value;
}

static struct address check_address(lua_State *L) {
  static const char *const names[] = {"host", "port", "path", "tls", "ca_file", "attempt"};
  struct address a = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_options(L, 1, names, sizeof names / sizeof *names);
  a.host = text_option(L, "host");
  a.path = text_option(L, "path");
  a.ca_file = text_option(L, "ca_file");
  a.port = (int)integer_option(L, "port", 65535);
  a.attempt = (unsigned)integer_option(L, "attempt", 1 << 30);
  lua_getfield(L, 1, "tls");
  a.tls = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (!a.host == !a.path) luaL_error(L, "give 'host' or 'path'");
  if (a.path && a.tls) luaL_error(L, "TLS needs a host");
  return a;
}

/* redis.connect { host =, port =, tls =, ca_file =, attempt = } or { path = } -> connection | nil, err, kind:
 * it begins to connect. */
static int l_connect(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct address a = check_address(L);
  struct connection *c = box_new(L, &connection_type, sizeof *c, USER_VALUES);
  if (!replies_open(&c->replies, &e)) return push_failure(L, &e);
  if (!channel_open(&c->channel, &a, &e)) {
    replies_close(&c->replies);
    return push_failure(L, &e);
  }
  box_open(L, -1);
  return 1;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_redis(lua_State *L) {
  static const luaL_Reg functions[] = {{"connect", l_connect}, {"live_objects", l_live}, {NULL, NULL}};
  luaL_checkversion(L);
  box_define(L, &connection_type);
  box_define(L, &taken_type);
  luaL_newlib(L, functions);
  return 1;
}
