#include "bind/signing/context.h"
#include "signing/receiver.h"

#include <stdlib.h>
#include <string.h>

struct receiver_box {
  struct receiver *receiver;
  struct crypto *crypto; /* the receiver's */
};

static void release_receiver(void *object) {
  receiver_free(((struct receiver_box *)object)->receiver);
}

static const struct box_type receiver_type;

/* Comes after everything that makes a Lua value or calls the caller: that may run a finaliser of the host
 * that closes it. */
static struct receiver_box *check_receiver(lua_State *L) {
  return box_check(L, 1, &receiver_type);
}

/* ---- the enrolled keys ---- */

static void check_public(lua_State *L, int index, struct enrolled *out) {
  size_t size;
  const char *bytes = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &size) : NULL;
  if (!bytes || size != PUBLIC_SIZE || bytes[0] != 4)
    luaL_error(L, "'keys' takes public keys of 65 bytes, as public_bytes() gives");
  memcpy(out->public, bytes, PUBLIC_SIZE);
}

static void check_enrolled(lua_State *L, int index, struct enrolled *out) {
  out->role = ROLE_OWNER;
  if (!lua_istable(L, index)) {
    check_public(L, index, out);
    return;
  }
  lua_getfield(L, index, "public_key");
  check_public(L, lua_gettop(L), out);
  if (lua_getfield(L, index, "role") != LUA_TNIL) {
    int role = lua_type(L, -1) == LUA_TSTRING ? role_of(lua_tostring(L, -1)) : -1;
    if (role < 0)
      luaL_error(
          L, "'role' must be OWNER, DRIVER, FM, SERVICE, VEHICLE_MONITOR, CHARGING_MANAGER, GUEST or NONE");
    out->role = (enum role)role;
  }
  lua_pop(L, 2);
}

/* A userdata holding the list at index, left on the stack. */
static struct enrolled *check_keys(lua_State *L, int index, size_t *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer n = luaL_len(L, index);
  if (n > 1000) luaL_error(L, "'keys' holds too many keys");
  *count = (size_t)n;
  struct enrolled *keys = lua_newuserdatauv(L, (*count + 1) * sizeof *keys, 0);
  for (size_t i = 0; i < *count; i++) {
    lua_geti(L, index, (lua_Integer)i + 1);
    check_enrolled(L, lua_gettop(L), &keys[i]);
    lua_pop(L, 1);
  }
  return keys;
}

/* fleet.receiver{ key =, vin =, domain =, keys =, random =, clock = } -> receiver */
static int l_receiver(lua_State *L) {
  static const char *const names[] = {"key", "vin", "domain", "keys", "random", "clock"};
  struct err e;
  err_clear(&e);
  struct identity p;
  size_t count = 0;
  expect_type(L, 1, LUA_TTABLE, "receiver: a table of options");
  lua_settop(L, 1);
  if (lua_getfield(L, 1, "keys") == LUA_TNIL) lua_newtable(L), lua_replace(L, 2);
  struct enrolled *keys = check_keys(L, 2, &count);
  struct receiver_box *box_ = box_new(L, &receiver_type, sizeof *box_, 2);
  int box = lua_gettop(L);
  unsigned char epoch[EPOCH_SIZE];
  check_identity(L, 1, names, sizeof names / sizeof *names, &p);
  box_->receiver = receiver_new(p.key, p.vin, p.domain, &e);
  if (!box_->receiver) return push_failure(L, &e);
  box_->crypto = key_crypto(p.key);
  box_open(L, box);
  keep_sources(L, 1);
  if (!receiver_enroll(box_->receiver, keys, count, &e) ||
      !fill_random(L, box, box_->crypto, epoch, sizeof epoch, &e))
    return push_failure(L, &e);
  receiver_begin_epoch(box_->receiver, epoch, read_mono(L, box));
  return 1;
}

/* receiver:enroll(keys): the list in place of the old one; keys that stay keep their counters */
static int l_enroll(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_receiver(L);
  size_t count;
  struct enrolled *keys = check_keys(L, 2, &count);
  if (!receiver_enroll(check_receiver(L)->receiver, keys, count, &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

static bool begin_epoch(lua_State *L, double mono, struct err *e) {
  unsigned char epoch[EPOCH_SIZE];
  if (!fill_random(L, 1, check_receiver(L)->crypto, epoch, sizeof epoch, e)) return false;
  receiver_begin_epoch(check_receiver(L)->receiver, epoch, mono);
  return true;
}

/* receiver:restart(): as after a restart of the vehicle: a new epoch, clock and counters at 0 */
static int l_restart(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_receiver(L);
  if (!begin_epoch(L, read_mono(L, 1), &e)) return push_failure(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* ---- one message ---- */

/* What lives while respond() runs; a box, because respond may raise. */
struct handling {
  struct arena arena;
  struct arrival arrival;
  struct buf plain;
};

static void release_handling(void *object) {
  struct handling *h = object;
  arrival_end(&h->arrival);
  arena_end(&h->arena);
  buf_free(&h->plain);
}

static const struct box_type handling_type = {"fleet.handling", release_handling, NULL, NULL};

static struct handling *push_handling(lua_State *L) {
  struct handling *h = box_new(L, &handling_type, sizeof *h, 0);
  arena_start(&h->arena, 4 * MESSAGE_LIMIT);
  box_open(L, -1);
  return h;
}

/* respond(payload) -> answer or nil, fault number or nil */
static struct bytes ask(lua_State *L, struct handling *x) {
  if (lua_isnoneornil(L, 3)) return (struct bytes){NULL, 0};
  lua_pushvalue(L, 3);
  push_buf(L, &x->plain);
  lua_call(L, 1, 2);
  if (!lua_isnil(L, -1)) {
    int whole;
    lua_Integer fault = lua_tointegerx(L, -1, &whole);
    if (!whole || fault < 0 || fault > UINT32_MAX)
      luaL_error(L, "respond() must return an answer and perhaps the number of a fault");
    x->arrival.verdict.fault = (uint32_t)fault;
  }
  if (!lua_isnil(L, -2) && lua_type(L, -2) != LUA_TSTRING)
    luaL_error(L, "respond() must return bytes or nil, got %s", luaL_typename(L, -2));
  if (lua_isnil(L, -2)) return (struct bytes){NULL, 0};
  return check_bytes(L, lua_gettop(L) - 1);
}

static bool runs(const struct arrival *a) {
  return !a->handshake && !a->verdict.fault;
}

static void push_fault_name(lua_State *L, uint32_t number) {
  const struct fault *row = fault_row(number);
  if (!number)
    lua_pushnil(L);
  else if (row)
    lua_pushstring(L, row->name);
  else
    lua_pushinteger(L, number);
}

/* receiver:handle(bytes, respond) -> reply, payload of an accepted command or nil, name of the fault or nil
 * respond(payload) gives the application's answer (nil: the domain's plain OK) and, to refuse, the number of
 * a fault. */
static int l_handle(lua_State *L) {
  struct err e;
  err_clear(&e);
  check_receiver(L);
  struct bytes in = check_bytes(L, 2);
  struct bytes answer = {NULL, 0};
  unsigned char nonce[NONCE_SIZE];
  lua_settop(L, 3);
  if (!lua_isnil(L, 3)) luaL_checktype(L, 3, LUA_TFUNCTION);
  double now = read_mono(L, 1);
  if (receiver_epoch_due(check_receiver(L)->receiver, now) && !begin_epoch(L, now, &e))
    return push_failure(L, &e);
  struct handling *x = push_handling(L);
  if (!receiver_open(check_receiver(L)->receiver, in, now, &x->arena, &x->arrival, &x->plain, &e))
    return push_failure(L, &e);
  bool accepted = runs(&x->arrival);
  if (accepted) answer = ask(L, x);
  struct crypto *c = check_receiver(L)->crypto; /* respond may have closed it */
  if (arrival_wants_nonce(&x->arrival) && !fill_random(L, 1, c, nonce, sizeof nonce, &e))
    return push_failure(L, &e);
  struct buf *reply = push_scratch(L);
  if (!receiver_reply(check_receiver(L)->receiver, &x->arrival, answer, nonce, now, reply, &e))
    return push_failure(L, &e);
  push_buf(L, reply);
  if (accepted)
    push_buf(L, &x->plain);
  else
    lua_pushnil(L);
  push_fault_name(L, x->arrival.verdict.fault);
  box_close(L, 4);
  return 3;
}

static const luaL_Reg receiver_methods[] = {
    {"handle", l_handle}, {"enroll", l_enroll}, {"restart", l_restart}, {NULL, NULL}};
static const struct box_type receiver_type = {"fleet.receiver", release_receiver, receiver_methods, NULL};

void open_receiver(lua_State *L) {
  box_define(L, &receiver_type);
  box_define(L, &handling_type);
  lua_pop(L, 2);
  lua_pushcfunction(L, l_receiver);
  lua_setfield(L, -2, "receiver");
}
