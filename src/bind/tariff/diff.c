/* What differs between the contents of two tariffs, told member by member, by path. */
#include "bind/tariff/tariffs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
  lua_State *L;
  int out; /* the list, on the stack */
  struct buf *path;
};

/* ---- periods: compared as a set, for their order has no meaning ---- */

static int integer_of(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  int value = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Replaces the list at the index by { [its period as text] = true }. */
static void use_as_set(lua_State *L, int list) {
  size_t count = (size_t)lua_rawlen(L, list);
  lua_createtable(L, 0, (int)count);
  for (size_t i = 1; i <= count; i++) {
    char text[128];
    lua_rawgeti(L, list, (lua_Integer)i);
    snprintf(text, sizeof text, "%d-%d %02d:%02d-%02d:%02d", integer_of(L, "fromDayOfWeek"),
             integer_of(L, "toDayOfWeek"), integer_of(L, "fromHour"), integer_of(L, "fromMinute"),
             integer_of(L, "toHour"), integer_of(L, "toMinute"));
    lua_pop(L, 1);
    set_boolean(L, text, true);
  }
  lua_replace(L, list);
}

/* ---- the keys of two tables ---- */

struct key {
  struct bytes text; /* held by the table of keys */
  bool of_list;
};

static int by_text(const void *left, const void *right) {
  struct bytes a = ((const struct key *)left)->text, b = ((const struct key *)right)->text;
  int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Adds the keys of a table to { [text] = key }. */
static void add_keys(lua_State *L, int table, int keys) {
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    lua_pop(L, 1);
    luaL_tolstring(L, -1, NULL);
    lua_pushvalue(L, -2);
    lua_rawset(L, keys); /* key */
    lua_pushnil(L);
  }
}

static size_t count_of(lua_State *L, int table) {
  size_t count = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
  return count;
}

/* Pushes { [text] = key } and the sorted texts; their count. */
static size_t push_keys(lua_State *L, int a, int b, struct key **out) {
  struct key *key;
  lua_newtable(L);
  int keys = lua_gettop(L);
  add_keys(L, a, keys), add_keys(L, b, keys);
  size_t count = count_of(L, keys);
  key = *out = lua_newuserdatauv(L, (count + 1) * sizeof *key, 0);
  for (lua_pushnil(L); lua_next(L, keys); lua_pop(L, 1), key++) {
    key->text.data = (const unsigned char *)lua_tolstring(L, -2, &key->text.size);
    key->of_list = lua_type(L, -1) == LUA_TNUMBER;
  }
  qsort(*out, count, sizeof **out, by_text);
  return count;
}

/* ---- the walk ---- */

static void tell(const struct walk *w, int a, int b) {
  lua_State *L = w->L;
  lua_createtable(L, 0, 3);
  push_buf(L, w->path), lua_setfield(L, -2, "path");
  lua_pushvalue(L, a), lua_setfield(L, -2, "from");
  lua_pushvalue(L, b), lua_setfield(L, -2, "to");
  list_append(L, w->out);
}

/* The value of a key, which keys has by its text. */
static void push_value(lua_State *L, int table, int keys, const struct key *key) {
  lua_pushlstring(L, (const char *)key->text.data, key->text.size);
  lua_rawget(L, keys);
  lua_rawget(L, table);
}

static void add_step(struct buf *path, const struct key *key) {
  if (key->of_list)
    buf_put(path, '[');
  else if (path->size)
    buf_put(path, '.');
  buf_add(path, key->text.data, key->text.size);
  if (key->of_list) buf_put(path, ']');
}

/* The values on top of the stack; name: what they are called. */
static void compare(const struct walk *w, struct bytes name) {
  lua_State *L = w->L;
  int b = lua_gettop(L), a = b - 1, key_table = b + 1;
  struct key *keys;
  luaL_checkstack(L, 20, "comparing tariffs");
  if (!lua_istable(L, a) || !lua_istable(L, b)) {
    if (!lua_rawequal(L, a, b)) tell(w, a, b);
    return;
  }
  if (bytes_equal(name, bytes_of("periods"))) use_as_set(L, a), use_as_set(L, b);
  size_t count = push_keys(L, a, b, &keys), here = w->path->size;
  for (size_t i = 0; i < count; i++) {
    push_value(L, a, key_table, &keys[i]), push_value(L, b, key_table, &keys[i]);
    add_step(w->path, &keys[i]);
    compare(w, keys[i].text);
    lua_pop(L, 2);
    w->path->size = here;
  }
  lua_settop(L, b);
}

void push_differences(lua_State *L, int one, int other) {
  lua_newtable(L);
  struct walk w = {L, lua_gettop(L), push_scratch(L)};
  lua_pushvalue(L, one), lua_pushvalue(L, other);
  compare(&w, bytes_of(""));
  lua_settop(L, w.out);
}
