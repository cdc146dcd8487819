#include "bind/call/arguments.h"

#include "bind/crypto/context.h"
#include "bind/lua/value.h"
#include "bind/signing/context.h"

void arguments_start(lua_State *L, const struct row *row, struct arena *arena, struct buf *error,
                     struct arguments *a) {
  struct err e;
  err_clear(&e);
  luaL_checkstack(L, 16, "call");
  *a = (struct arguments){.row = row, .arena = arena, .error = error};
  for (const struct param *q = row->params; q && q->name; q++) {
    if (q->flags & NOW) a->wall = system_wall_clock();
    if (q->flags & FRESH_ID) a->fresh_id = fresh_id(L);
    if (q->type == TYPE_PUBLIC_KEY && !(a->crypto = state_crypto(L, &e))) luaL_error(L, "%s", e.message);
  }
}

void arguments_boxed(lua_State *L, const struct row *row, struct arguments *a) {
  struct arena *arena = push_arena(L);
  arguments_start(L, row, arena, push_scratch(L), a);
}

struct node *arguments_value(lua_State *L, int index, const struct arguments *a) {
  struct node *value = node_copy(a->arena, value_at(L, index, a->arena));
  if (!value || a->arena->failed) luaL_error(L, "out of memory");
  return value;
}

/* Copies a field that the table at index has only through its metatable. */
static void add_inherited(lua_State *L, int index, const char *name, struct node *object,
                          const struct arguments *a) {
  lua_pushstring(L, name);
  bool own = lua_rawget(L, index) != LUA_TNIL;
  lua_pop(L, 1);
  if (own) return;
  if (lua_getfield(L, index, name) != LUA_TNIL) node_set(object, name, arguments_value(L, lua_gettop(L), a));
  lua_pop(L, 1);
}

/* A parameter with a method `encode`, such as a tariff, writes its own JSON. */
static void encode_object(lua_State *L, int index, const struct param *q, struct arguments *a) {
  if (lua_getfield(L, index, q->name) != LUA_TNIL && luaL_getmetafield(L, -1, "encode") != LUA_TNIL) {
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    const struct node *json = arguments_value(L, lua_gettop(L), a);
    a->encoded = q;
    a->json = text_value(a, q, json);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* The table at index, with the fields of these names that come from its metatable. Those are read first:
 * __index may run Lua code that changes the table. */
static const struct node *table_value(lua_State *L, int index, const char *const *names, size_t count,
                                      const struct arguments *a) {
  struct node *inherited = node_new(a->arena, NODE_OBJECT);
  if (lua_getmetatable(L, index)) {
    lua_pop(L, 1);
    for (size_t i = 0; i < count; i++) add_inherited(L, index, names[i], inherited, a);
  }
  struct node *own = arguments_value(L, index, a);
  if (!inherited || !inherited->first) return own;
  node_add(own, inherited->first);
  own->last = inherited->last;
  return own;
}

void arguments_params(lua_State *L, int index, struct arguments *a) {
  const char *names[2 * MOST_PARAMS];
  size_t count = 0;
  for (const struct param *q = a->row->params; q && q->name && count + 1 < 2 * MOST_PARAMS; q++) {
    names[count++] = q->name;
    if (q->former) names[count++] = q->former;
    if (q->type == TYPE_OBJECT || q->type == TYPE_TARIFF) encode_object(L, index, q, a);
  }
  a->params = table_value(L, index, names, count, a);
}

void arguments_options(lua_State *L, int index, struct arguments *a) {
  const char *names[MOST_PARAMS];
  size_t count = 0;
  for (const struct option *o = call_option_rows; o->name && count < MOST_PARAMS; o++)
    names[count++] = o->name;
  a->options = table_value(L, index, names, count, a);
}

void arguments_check(lua_State *L, const struct arguments *a) {
  if (arguments_ok(a)) return;
  if (a->error->size && buf_ok(a->error)) usage_error(L, "%s", buf_text(a->error));
  luaL_error(L, "out of memory");
}
